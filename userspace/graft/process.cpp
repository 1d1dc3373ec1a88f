#include "userspace/graft/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "userspace/base/failure.h"
#include "userspace/graft/tool_root.h"

namespace fairswitch {
namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

  private:
    int fd_;
};

// Says on stderr what failed and why; the parent has it in the output.
bool enter(const ToolRoot* root) {
    const char* failed = root == nullptr ? nullptr : root->enter();
    if (failed == nullptr) return true;
    const int error = errno;
    dprintf(2, "can't enter the tools' root: %s: %s\n", failed, strerrordesc_np(error));
    return false;
}

// Runs in the child: only async-signal-safe calls, since other threads may hold locks.
[[noreturn]] void become(const ProcessOptions& options, int output, char* const* argv) {
    const char* in = options.stdin_file.empty() ? "/dev/null" : options.stdin_file.c_str();
    const int input = open(in, O_RDONLY);
    int out = output;
    if (!options.stdout_file.empty()) {
        out = open(options.stdout_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    }
    const bool ready = input >= 0 && out >= 0 && dup2(input, 0) >= 0 && dup2(out, 1) >= 0 &&
                       dup2(output, 2) >= 0 && enter(options.root) &&
                       (options.directory.empty() || chdir(options.directory.c_str()) == 0);
    if (ready) execvp(argv[0], argv);
    _exit(127);
}

std::string read_all(int fd) {
    std::string output;
    std::array<char, 16384> buffer;
    for (;;) {
        const ssize_t got = read(fd, buffer.data(), buffer.size());
        if (got > 0) output.append(buffer.data(), static_cast<size_t>(got));
        if (got == 0 || (got < 0 && errno != EINTR)) return output;
    }
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) fail(Exit::kRunFailed, "waitpid: {}", std::strerror(errno));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const ProcessOptions& options) {
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail(Exit::kRunFailed, "pipe: {}", std::strerror(errno));
    Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    const pid_t child = fork();
    if (child < 0) fail(Exit::kRunFailed, "fork: {}", std::strerror(errno));
    if (child == 0) become(options, writer.get(), argv.data());
    writer.close();
    ProcessResult result;
    result.output = read_all(reader.get());
    result.status = wait_for(child);
    if (result.status == 127 && result.output.empty()) {
        fail(Exit::kImpossible, "{}: can't be run; is the program installed?", arguments.front());
    }
    return result;
}

ProcessResult run_shell(const std::string& command, const ProcessOptions& options) {
    return run_process({"/bin/sh", "-c", command}, options);
}

std::string last_lines(const std::string& output, size_t count) {
    size_t at = output.size();
    for (size_t seen = 0; at > 0; --at) {
        if (output[at - 1] == '\n' && at != output.size() && ++seen == count) break;
    }
    return output.substr(at);
}

}  // namespace fairswitch
