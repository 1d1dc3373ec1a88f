// What was changed on the machine outside of the module, written down before it is changed, so
// that the next experiment can put it back if this one is killed.
//
// In /run: like the settings themselves it doesn't outlive a boot. Used by whoever holds the
// module's session, so by one process at a time.
#pragma once

#include <string>
#include <vector>

namespace fairswitch {

class Journal {
  public:
    explicit Journal(std::string file = "/run/fairswitch/changed");
    // All has been put back by now: nothing is left to be told.
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // Of a killed run: writes the values back, newest first, and removes its cgroups with what runs
    // in them. A line for each.
    std::vector<std::string> put_back();

    // `value` is to be written to `path` again.
    void will_write(const std::string& path, const std::string& value);
    // The cgroup is to be removed.
    void will_make(const std::string& folder);

  private:
    void note(const std::string& line);

    std::string file_;
};

// Kills what is in the cgroup and removes it.
void remove_cgroup(const std::string& folder);

// Kills the processes that a killed run in that directory left behind: they have FAIRSWITCH_RUN in
// their environment. Returns how many.
size_t end_left_behind(const std::string& run, const std::string& proc = "/proc");
// For the programs of this run.
void mark_programs(const std::string& run);

}  // namespace fairswitch
