#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "userspace/analysis/cyclictest.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

// The value of an option written as `-i 5`, `-i5`, `--interval 5` or `--interval=5`.
class Words {
  public:
    explicit Words(const std::vector<std::string>& words) : words_(words) {}

    bool has(char letter, const std::string& name) const {
        for (const std::string& word : words_) {
            if (!name.empty() && word == "--" + name) return true;
            if (letter && is_cluster(word) && word.find(letter) != std::string::npos) return true;
        }
        return false;
    }

    std::string value(char letter, const std::string& name) const {
        for (size_t i = 0; i < words_.size(); ++i) {
            const std::string& word = words_[i];
            const std::string next = i + 1 < words_.size() ? words_[i + 1] : "";
            if (word == "--" + name) return next;
            if (word.rfind("--" + name + "=", 0) == 0) return word.substr(name.size() + 3);
            if (letter && word == std::string("-") + letter) return next;
            if (letter && word.rfind(std::string("-") + letter, 0) == 0) return word.substr(2);
        }
        return "";
    }

  private:
    // Flags without a value may be joined: -mqv.
    static bool is_cluster(const std::string& word) {
        static const std::string kFlags = "mMNqrRsSuvx";
        return word.size() >= 2 && word[0] == '-' && word[1] != '-' &&
               word.find_first_not_of(kFlags, 1) == std::string::npos;
    }

    const std::vector<std::string>& words_;
};

uint64_t number(const std::string& text, const char* option, uint64_t fallback) {
    if (text.empty()) return fallback;
    char* end = nullptr;
    unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    if (*end || value == 0)
        fail(Exit::kUsage, "the measuring program's {} is '{}'; a number above 0 was expected", option, text);
    return value;
}

// cyclictest's -t alone and -S mean one thread for each CPU.
uint32_t thread_count(const Words& options) {
    const std::string text = options.value('t', "threads");
    const bool one_each = options.has('S', "smp") || options.has('t', "threads");
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (digits) return static_cast<uint32_t>(number(text, "number of threads", 1));
    return one_each || !text.empty() ? std::max(1u, std::thread::hardware_concurrency()) : 1;
}

// cyclictest compares only as many letters as its own name has.
bool known_policy(const std::string& policy) {
    static constexpr std::array<const char*, 5> kNames = {"other", "batch", "idle", "fifo", "rr"};
    std::string lower = policy;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return lower == "normal" || std::any_of(kNames.begin(), kNames.end(), [&](const char* name) {
               return lower.rfind(name, 0) == 0;
           });
}

}  // namespace

namespace {

// `fairswitch waker …`, perhaps behind taskset, chrt or the like.
bool is_waker(const std::vector<std::string>& words) {
    for (size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string& word = words[i];
        if (words[i + 1] == "waker" && word.substr(word.find_last_of('/') + 1) == "fairswitch")
            return true;
    }
    return false;
}

}  // namespace

CyclicCommand CyclicCommand::parse(const std::vector<std::string>& words) {
    Words options(words);
    CyclicCommand command;
    command.threads = thread_count(options);
    if (is_waker(words)) {
        command.interval_us = number(options.value('i', "interval"), "interval", 1000);
        command.verbose = true;
        return command;
    }
    command.interval_us = number(options.value('i', "interval"), "interval", command.interval_us);
    command.reduction = number(options.value('o', "oscope"), "oscope reduction", 1);
    command.nanoseconds = options.has('N', "nsecs");
    command.verbose = options.has('v', "verbose");
    command.relative = options.has('r', "relative");
    std::string policy = options.value(0, "policy");
    if (!policy.empty()) command.policy = policy;
    if (!known_policy(command.policy))
        command.notes.push_back(fmt::format(
            "cyclictest knows no policy '{}' and silently ran as SCHED_OTHER", command.policy));
    return command;
}

CyclicCommand CyclicCommand::parse(std::string_view line) {
    std::istringstream in{std::string(line)};
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return parse(words);
}

}  // namespace fairswitch
