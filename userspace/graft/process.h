// Runs another program and collects what it printed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fairswitch {

struct ProcessResult {
    int status = 0;      // exit code; 128 + signal if killed
    std::string output;  // stdout, and stderr unless kept apart
};

class ToolRoot;

struct ProcessOptions {
    std::filesystem::path directory{};    // working directory; the caller's if empty
    std::filesystem::path stdin_file{};   // /dev/null if empty
    std::filesystem::path stdout_file{};  // stdout goes there instead of into `output`
    const ToolRoot* root = nullptr;       // run there; the paths above are the same inside
};

// Runs `arguments`, found through PATH, and waits. Throws only if it can't be started.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const ProcessOptions& options = {});

// Runs a shell command line, for commands that kbuild recorded as text.
ProcessResult run_shell(const std::string& command, const ProcessOptions& options = {});

// The last lines of a program's output, for a message.
std::string last_lines(const std::string& output, size_t count);

}  // namespace fairswitch
