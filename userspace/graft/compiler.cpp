#include "userspace/graft/compiler.h"

#include <algorithm>
#include <future>
#include <regex>
#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/graft/process.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

std::string quote(const std::string& word) {
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

fs::path with_suffix(const fs::path& path, const char* suffix) {
    return fs::path(path).replace_extension(suffix);
}

// "\t.type\tNAME, @function" or @object; the name, or nothing.
std::string declared_name(const std::string& line) {
    static const std::string start = "\t.type\t";
    if (line.compare(0, start.size(), start) != 0) return {};
    const auto comma = line.find(", @", start.size());
    if (comma == std::string::npos) return {};
    const auto kind = line.substr(comma + 3);
    if (kind != "function" && kind != "object") return {};
    return line.substr(start.size(), comma - start.size());
}

}  // namespace

Compiler::Compiler(fs::path kdir, fs::path source, fs::path work, const std::string& program,
                   const ToolRoot& root)
    : kdir_(std::move(kdir)), source_(std::move(source)), work_(std::move(work)), root_(root) {
    learn_command(program);
}

// kbuild writes the command of each object next to it; a file with nothing in it is compiled once
// to read that command. Without MODULE's flags it is the command of built-in code.
void Compiler::learn_command(const std::string& program) {
    const auto probe = fs::absolute(work_ / "probe");
    fs::create_directories(probe);
    write_file(probe / "fsw_probe.c", "int fsw_probe;\n");
    write_file(probe / "Kbuild", "obj-m := fsw_probe.o\nOBJECT_FILES_NON_STANDARD := y\n");
    fs::remove(probe / "fsw_probe.o");
    const auto result = run_process({"make", "-C", kdir_, "M=" + probe.string(), "CC=" + program,
                                     "KBUILD_CFLAGS_MODULE=", "fsw_probe.o"},
                                    {.root = &root_});
    if (result.status != 0) {
        fail(Exit::kImpossible,
             "{}: kbuild can't compile an empty file there; expected the prepared headers of the "
             "kernel (package linux-headers-RELEASE). It said:\n{}",
             kdir_.string(), last_lines(result.output, 15));
    }
    std::istringstream lines(read_file(probe / ".fsw_probe.o.cmd"));
    std::getline(lines, command_);
    const auto start = command_.find(":= ");
    const auto end = command_.find(" -c -o ");
    if (start == std::string::npos || end == std::string::npos) {
        fail(Exit::kImpossible,
             "{}: kbuild's command file has another form than 'cmd := CC ... "
             "-c -o OBJECT SOURCE': {}",
             kdir_.string(), command_);
    }
    command_ = command_.substr(start + 3, end - start - 3);
    command_ = std::regex_replace(command_, std::regex(R"( -Wp,-MMD,\S+)"), "");
    // Debug information doesn't change code and takes half of the time.
    command_ = std::regex_replace(command_, std::regex(R"( -g(dwarf-\d)?(?= |$))"), "");
    replace_all(command_, "fsw_probe", "fair");
    learn_header_prefix();
}

// The kernel is built in its own tree, where its headers are include/linux/… without a folder.
void Compiler::learn_header_prefix() {
    std::istringstream words(command_);
    for (std::string word; words >> word;) {
        const std::string end = "/include";
        const bool main_headers = word.compare(0, 3, "-I/") == 0 && word.size() > end.size() &&
                                  word.compare(word.size() - end.size(), end.size(), end) == 0 &&
                                  word.find("/arch/") == std::string::npos;
        if (!main_headers) continue;
        const auto folder = word.substr(2, word.size() - 2 - end.size() + 1);
        header_prefix_ += " -fmacro-prefix-map=" + quote(folder + "=");
    }
}

void Compiler::compile_one(const Job& job) const {
    const auto assembly = with_suffix(job.output, ".s");
    const auto sched = source_ / "kernel/sched";
    std::string command = command_;
    for (const auto& include : job.includes) command += " -I" + quote(fs::absolute(include));
    for (const auto& path : {sched, source_ / "kernel", source_}) {
        command += " -I" + quote(fs::absolute(path));
    }
    for (const auto& flag : job.flags) command += " " + quote(flag);
    // Bug tables and messages name files as the kernel's build named them.
    command += header_prefix_;
    const auto folder = fs::absolute(job.input).parent_path().string() + "/";
    command += " -fmacro-prefix-map=" + quote(fs::absolute(source_).string() + "/=");
    command += " -fmacro-prefix-map=" + quote(folder + "=kernel/sched/");
    const auto compile = command + " -w -ffunction-sections -fdata-sections -S -o " +
                         quote(fs::absolute(assembly)) + " " + quote(fs::absolute(job.input));
    const auto result = run_shell(compile, {.directory = kdir_, .root = &root_});
    if (result.status != 0) {
        write_file(with_suffix(job.output, ".log"), compile + "\n" + result.output);
        if (!job.laid_out.empty()) {
            fail(Exit::kImpossible,
                 "{}: the kernel's own source doesn't compile against {}; is it complete, and of "
                 "this very package version? The compiler said:\n{}",
                 job.input.string(), kdir_.string(), last_lines(result.output, 10));
        }
        fail(Exit::kRunFailed, "{}: doesn't compile against {}; the compiler said:\n{}",
             job.input.string(), kdir_.string(), last_lines(result.output, 20));
    }
    std::string text = read_file(assembly);
    std::string locals;
    for (const auto& name : promote_local_symbols(text)) locals += name + "\n";
    write_file(with_suffix(job.output, ".locals"), locals);
    assemble(text, job.output);
    if (!job.laid_out.empty()) assemble(with_common_sections(text), job.laid_out);
}

void Compiler::assemble(const std::string& text, const fs::path& output) const {
    const auto assembly = with_suffix(output, ".s");
    write_file(assembly, text);
    const auto command = command_ + " -x assembler -c -o " + quote(fs::absolute(output)) + " " +
                         quote(fs::absolute(assembly));
    const auto result = run_shell(command, {.directory = kdir_, .root = &root_});
    if (result.status != 0) {
        fail(Exit::kRunFailed, "{}: the assembler refused it:\n{}", assembly.string(),
             last_lines(result.output, 20));
    }
}

void Compiler::compile(const std::vector<Job>& jobs) const {
    std::vector<std::future<void>> running;
    for (const auto& job : jobs) {
        if (running.size() == 2) {
            running.front().get();
            running.erase(running.begin());
        }
        running.push_back(std::async(std::launch::async, [this, &job] { compile_one(job); }));
    }
    for (auto& one : running) one.get();
}

std::set<std::string> Compiler::local_names(const fs::path& object) {
    std::istringstream lines(read_file(with_suffix(object, ".locals")));
    std::set<std::string> names;
    for (std::string name; std::getline(lines, name);) names.insert(name);
    return names;
}

std::set<std::string> promote_local_symbols(std::string& assembly) {
    std::set<std::string> global;
    std::set<std::string> promoted;
    std::istringstream lines(assembly);
    for (std::string line; std::getline(lines, line);) {
        for (const std::string directive : {"\t.globl\t", "\t.weak\t"}) {
            if (line.compare(0, directive.size(), directive) == 0) {
                global.insert(line.substr(directive.size()));
            }
        }
    }
    std::string result;
    result.reserve(assembly.size() + assembly.size() / 16);
    lines = std::istringstream(assembly);
    for (std::string line; std::getline(lines, line);) {
        // .local NAME beside .globl NAME would be a contradiction.
        if (line.compare(0, 8, "\t.local\t") == 0) line = "\t.globl\t" + line.substr(8);
        result += line + "\n";
        const auto name = declared_name(line);
        if (name.empty() || global.count(name) != 0 || name[0] == '.') continue;
        if (promoted.insert(name).second) result += "\t.globl\t" + name + "\n";
    }
    assembly = std::move(result);
    return promoted;
}

std::string with_common_sections(const std::string& assembly) {
    static const std::string start = "\t.section\t.text.";
    std::string result;
    result.reserve(assembly.size());
    std::istringstream lines(assembly);
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, start.size(), start) == 0) {
            const auto comma = std::min(line.find(','), line.size());
            std::string common = ".text";
            for (const char* kind : {"unlikely", "hot", "startup", "exit"}) {
                const auto prefix = start + kind;
                const bool whole = prefix.size() == comma || line[prefix.size()] == '.';
                if (whole && line.compare(0, prefix.size(), prefix) == 0) {
                    common = common + "." + kind;
                }
            }
            line = "\t.section\t" + common + line.substr(comma);
        }
        result += line + "\n";
    }
    return result;
}

}  // namespace fairswitch
