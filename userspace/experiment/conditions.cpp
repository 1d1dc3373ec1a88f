#include "userspace/experiment/conditions.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/workload/task_attributes.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

std::string bare(const std::string& feature) {
    return feature.starts_with("NO_") ? feature.substr(3) : feature;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

std::string read_all(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    std::string result = text.str();
    while (!result.empty() && result.back() == '\n') result.pop_back();
    return result;
}

void write_value(const std::string& path, const std::string& value) {
    errno = 0;
    std::ofstream out(path);
    out << value << std::flush;
    if (!out)
        fail(Exit::kImpossible, "cannot write '{}' to {}: {}", value, path,
             errno ? std::strerror(errno) : "no such file");
}

size_t option(const std::vector<std::string>& words, const std::string& letter,
              const std::string& name, size_t fallback) {
    for (size_t i = 0; i < words.size(); ++i) {
        std::string value;
        if (words[i] == "-" + letter || words[i] == "--" + name)
            value = i + 1 < words.size() ? words[i + 1] : "";
        else if (words[i].starts_with("--" + name + "="))
            value = words[i].substr(name.size() + 3);
        else if (words[i].starts_with("-" + letter) && words[i].size() > 2)
            value = words[i].substr(2);
        if (!value.empty() && value.find_first_not_of("0123456789") == std::string::npos)
            return std::stoul(value);
    }
    return fallback;
}

}  // namespace

SchedFeatures::SchedFeatures(Journal* journal, std::string file)
    : journal_(journal), file_(std::move(file)) {
    found_ = words_of(read_all(file_));
    now_ = found_;
    told_.resize(found_.size());
}

SchedFeatures::~SchedFeatures() {
    try {
        set({});
    } catch (const Failure&) {
        // The kernel took it before; nobody is left to be told.
    }
}

void SchedFeatures::check(const std::vector<std::string>& wanted) const {
    if (wanted.empty()) return;
    if (found_.empty())
        fail(Exit::kImpossible,
             "cannot read {}: sched features need CONFIG_SCHED_DEBUG, debugfs mounted, and root",
             file_);
    for (const std::string& feature : wanted) {
        const bool known = std::any_of(found_.begin(), found_.end(), [&](const std::string& other) {
            return bare(other) == bare(feature);
        });
        if (!known) {
            std::string names;
            for (const std::string& other : found_) names += " " + bare(other);
            fail(Exit::kUsage, "this kernel has no sched feature {}; it has:{}", bare(feature),
                 names);
        }
    }
}

void SchedFeatures::set(const std::vector<std::string>& wanted) {
    check(wanted);
    for (size_t i = 0; i < found_.size(); ++i) {
        std::string target = found_[i];
        for (const std::string& feature : wanted)
            if (bare(feature) == bare(target)) target = feature;
        if (now_[i] == target) continue;
        if (journal_ && !told_[i]) journal_->will_write(file_, found_[i]);
        told_[i] = true;
        write(target);
        now_[i] = target;
    }
}

void SchedFeatures::write(const std::string& feature) {
    write_value(file_, feature);
    const std::vector<std::string> read = words_of(read_all(file_));
    if (std::find(read.begin(), read.end(), feature) == read.end())
        fail(Exit::kRunFailed, "{} didn't take {}", file_, feature);
}

Conditions::Conditions(const Plan& plan, Journal* journal, std::string cgroup_root,
                       std::string base_slice_file)
    : journal_(journal), root_(std::move(cgroup_root)), base_slice_file_(std::move(base_slice_file)) {
    try {
        for (const Cgroup& cgroup : plan.cgroups()) make(cgroup);
        if (plan.base_slice_ms() != 0) set_base_slice(plan.base_slice_ms());
    } catch (...) {
        put_back();
        throw;
    }
}

Conditions::~Conditions() { put_back(); }

void Conditions::make(const Cgroup& cgroup) {
    if (!fs::exists(root_ + "/cgroup.controllers"))
        fail(Exit::kImpossible, "{} is no cgroup v2 hierarchy; mount one there", root_);
    std::string folder = root_;
    for (const fs::path& part : fs::path(cgroup.path())) {
        // The parent hands the controller down.
        write_value(folder + "/cgroup.subtree_control", "+cpu");
        folder += "/" + part.string();
        if (fs::exists(folder)) continue;
        if (journal_) journal_->will_make(folder);
        std::error_code error;
        if (!fs::create_directory(folder, error))
            fail(Exit::kImpossible, "cannot make the cgroup {}: {}", folder, error.message());
        made_.push_back(folder);
    }
    std::string line = "cgroup " + cgroup.path();
    const auto set = [&](const char* file, const std::string& value) {
        write_value(folder + "/" + file, value);
        line += fmt::format(", {} {}", file, read_all(folder + "/" + file));
    };
    if (cgroup.idle()) set("cpu.idle", "1");
    if (cgroup.weight()) set("cpu.weight", std::to_string(cgroup.weight()));
    if (!cgroup.max().empty()) set("cpu.max", cgroup.max());
    told_.push_back(line);
}

void Conditions::set_base_slice(double ms) {
    const std::string found = read_all(base_slice_file_);
    if (found.empty())
        fail(Exit::kImpossible, "cannot read {}: it needs debugfs and root", base_slice_file_);
    const auto wanted = fmt::format("{:.0f}", ms * 1e6);
    if (journal_) journal_->will_write(base_slice_file_, found);
    write_value(base_slice_file_, wanted);
    base_slice_found_ = found;
    const std::string now = read_all(base_slice_file_);
    if (now != wanted)
        fail(Exit::kRunFailed, "asked for a base slice of {} ns and got {} ns", wanted, now);
    told_.push_back(fmt::format("base slice {} ns (was {} ns)", now, found));
}

void Conditions::put_back() {
    if (!base_slice_found_.empty()) {
        std::ofstream(base_slice_file_) << base_slice_found_;
        base_slice_found_.clear();
    }
    for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) remove_cgroup(*folder);
    made_.clear();
}

std::string Conditions::place(pid_t pid, const Program& program) const {
    std::string line;
    const auto tell = [&](const std::string& what) { line += (line.empty() ? "" : ", ") + what; };
    if (!program.cgroup().empty()) {
        const std::string file = root_ + "/" + program.cgroup() + "/cgroup.procs";
        if (!fs::exists(file))
            fail(Exit::kUsage, "there is no cgroup {} for `{}`; list it among the plan's cgroups",
                 program.cgroup(), program.command());
        write_value(file, std::to_string(pid));
        tell("cgroup " + program.cgroup());
    }
    if (!program.cpus().empty()) {
        pin_to(parse_cpu_list(program.cpus()), pid);
        tell("CPUs " + program.cpus());
    }
    if (program.slice_ms() != 0 || !program.policy().empty() || program.nice() != 0 ||
        program.priority() != 0) {
        TaskAttributes wanted;
        wanted.policy = program.policy().empty() ? parse_policy("other") : parse_policy(program.policy());
        wanted.nice = program.nice();
        wanted.priority = program.priority();
        wanted.slice_ns = static_cast<uint64_t>(program.slice_ms() * 1e6);
        set_attributes(wanted, pid);
        const TaskAttributes found = read_attributes(pid);
        tell(fmt::format("policy {}, nice {}, slice {} us", policy_name(found.policy), found.nice,
                         found.slice_ns / 1000));
    }
    return line;
}

// Threads (-T) share their files, processes have those of their own group only. Each sender has a
// pipe or socket pair to each receiver of its group, and two pipes start them all together.
size_t hackbench_files(const std::string& command) {
    const std::vector<std::string> words = words_of(command);
    const bool hackbench = std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word.substr(word.find_last_of('/') + 1) == "hackbench";
    });
    if (!hackbench) return 0;
    const size_t groups = option(words, "g", "groups", 10);
    const size_t pairs = option(words, "f", "fds", 20);
    const bool threads = std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "-T" || word == "--threads";
    });
    constexpr size_t kOwn = 16;
    return kOwn + 2 * pairs * (threads ? groups : 1);
}

void check_open_files(const Plan& plan) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (const Program& load : plan.loads()) {
        const size_t need = hackbench_files(load.command());
        if (need > limit.rlim_cur)
            fail(Exit::kUsage,
                 "`{}` opens about {} files, the limit is {}; raise it with `ulimit -n {}`",
                 load.command(), need, limit.rlim_cur, need);
    }
}

}  // namespace fairswitch
