// fairswitch-abuse: everything that a hostile or broken program of root could do to the device. Each
// attempt must end in the error that the shared header promises, and change nothing.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "fairswitch/device.h"

namespace {

int failures = 0;

void expect(const char* what, long result, int wanted_errno) {
    const int found = result < 0 ? errno : 0;
    if (found == wanted_errno) return;
    ++failures;
    fmt::print("{}: expected {}, found {}\n", what, wanted_errno ? std::strerror(wanted_errno) : "ok",
               found ? std::strerror(found) : "ok");
}

long map(int fd, int protection, int flags, std::size_t bytes, std::uint64_t offset) {
    void* area = mmap(nullptr, bytes, protection, flags, fd, static_cast<off_t>(offset));
    if (area == MAP_FAILED) return -1;
    munmap(area, bytes);
    return 0;
}

int open_device() {
    const int fd = open(FSW_DEVICE_PATH, O_RDWR | O_CLOEXEC);
    expect("open", fd, 0);
    return fd;
}

void begin(int fd) {
    fsw_session session{.lease_ms = 60000, .owner_pid = 0};
    expect("session", ioctl(fd, FSW_IOC_SESSION, &session), 0);
}

void sessions(int fd) {
    fsw_session bad{.lease_ms = 1, .owner_pid = 0};
    expect("lease too short", ioctl(fd, FSW_IOC_SESSION, &bad), EINVAL);
    fsw_info info{};
    expect("info", ioctl(fd, FSW_IOC_INFO, &info), 0);
    fsw_set stock{};
    stock.positions = info.stock;
    expect("set without a session", ioctl(fd, FSW_IOC_SET, &stock), ENOLINK);
    expect("lease without a session", ioctl(fd, FSW_IOC_LEASE), ENOLINK);
    begin(fd);
    const int other = open_device();
    fsw_session second{.lease_ms = 1000, .owner_pid = 0};
    expect("second session", ioctl(other, FSW_IOC_SESSION, &second), EBUSY);
    if (second.owner_pid != static_cast<std::uint32_t>(getpid())) {
        ++failures;
        fmt::print("second session: the owner is {}, told was {}\n", getpid(), second.owner_pid);
    }
    expect("another's lease", ioctl(other, FSW_IOC_LEASE), EPERM);
    fsw_record_ctl all{.kinds = 1u << FSW_KIND_DECISION, .detail = 0};
    expect("another's recording", ioctl(other, FSW_IOC_RECORD, &all), EPERM);
    expect("mapping without a session",
           map(other, PROT_READ, MAP_SHARED, 4096 + info.ring_bytes,
               fsw_ring_offset(0, FSW_AREA_PRODUCER)),
           EPERM);
    close(other);
}

void arguments(int fd) {
    fsw_set set{};
    set.arm = 256;
    expect("arm out of range", ioctl(fd, FSW_IOC_SET, &set), EINVAL);
    set = {};
    set.arm = 1;
    set.positions = 1u << 15;
    expect("unknown variant", ioctl(fd, FSW_IOC_SET, &set), EINVAL);
    set.arm = 0;
    set.positions = 1;
    expect("arm 0 that isn't stock", ioctl(fd, FSW_IOC_SET, &set), EINVAL);
    fsw_record_ctl kinds{.kinds = 1u << FSW_KIND_PAD, .detail = 0};
    expect("recording of pads", ioctl(fd, FSW_IOC_RECORD, &kinds), EINVAL);
    kinds = {.kinds = 0, .detail = 2};
    expect("unknown detail", ioctl(fd, FSW_IOC_RECORD, &kinds), EINVAL);
    kinds = {.kinds = 1u << FSW_KIND_BRIEF, .detail = 0};
    expect("briefs by kind", ioctl(fd, FSW_IOC_RECORD, &kinds), EINVAL);
    kinds = {.kinds = 1u << FSW_KIND_DELAY, .detail = FSW_DETAIL_BRIEF};
    expect("nothing at that detail", ioctl(fd, FSW_IOC_RECORD, &kinds), EINVAL);
    fsw_mark mark{.id = 1, .reserved = 1, .value = 0};
    expect("reserved not zero", ioctl(fd, FSW_IOC_MARK, &mark), EINVAL);
    fsw_watch watch{.op = 9, .pid = 1, .comm = {}};
    expect("unknown watch", ioctl(fd, FSW_IOC_WATCH, &watch), EINVAL);
    watch = {.op = FSW_WATCH_PID, .pid = 0x7fffffff, .comm = {}};
    expect("watch of nobody", ioctl(fd, FSW_IOC_WATCH, &watch), ESRCH);
    fsw_variant variant{};
    variant.index = 1000;
    expect("variant out of range", ioctl(fd, FSW_IOC_VARIANT, &variant), EINVAL);
    fsw_filter filter{};
    filter.short_slice = 2;
    expect("filter with nonsense", ioctl(fd, FSW_IOC_FILTER, &filter), EINVAL);
    filter = {};
    filter.paths = 1;
    expect("filter of no path", ioctl(fd, FSW_IOC_FILTER, &filter), EINVAL);
    filter = {};
    filter.reserved = 1;
    expect("filter, reserved not zero", ioctl(fd, FSW_IOC_FILTER, &filter), EINVAL);
    expect("unknown ioctl", ioctl(fd, _IO('F', 200)), ENOTTY);
    expect("foreign ioctl", ioctl(fd, _IO('T', 1)), ENOTTY);
    expect("bad address", ioctl(fd, FSW_IOC_SET, 8), EFAULT);
    watch = {.op = FSW_WATCH_PID, .pid = static_cast<std::uint32_t>(getpid()), .comm = {}};
    for (int i = 0; i < 64; ++i) expect("watch", ioctl(fd, FSW_IOC_WATCH, &watch), 0);
    expect("watch beyond the table", ioctl(fd, FSW_IOC_WATCH, &watch), ENOSPC);
    watch = {.op = FSW_WATCH_CLEAR, .pid = 0, .comm = {}};
    expect("watch cleared", ioctl(fd, FSW_IOC_WATCH, &watch), 0);
}

void mappings(int fd, const fsw_info& info) {
    const std::size_t whole = 4096 + info.ring_bytes;
    const std::uint64_t producer = fsw_ring_offset(0, FSW_AREA_PRODUCER);
    const std::uint64_t consumer = fsw_ring_offset(0, FSW_AREA_CONSUMER);
    const int both = PROT_READ | PROT_WRITE;
    expect("producer writable", map(fd, both, MAP_SHARED, whole, producer), EPERM);
    expect("producer private", map(fd, PROT_READ, MAP_PRIVATE, whole, producer), EINVAL);
    expect("producer too short", map(fd, PROT_READ, MAP_SHARED, whole - 4096, producer), EINVAL);
    expect("producer too long", map(fd, PROT_READ, MAP_SHARED, whole + 4096, producer), EINVAL);
    expect("consumer too long", map(fd, both, MAP_SHARED, 8192, consumer), EINVAL);
    expect("no such CPU", map(fd, PROT_READ, MAP_SHARED, 4096, fsw_ring_offset(100000, 0)), ENXIO);
    expect("between areas", map(fd, PROT_READ, MAP_SHARED, 4096, consumer + 4096), EINVAL);
    void* area = mmap(nullptr, whole, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(producer));
    expect("producer", area == MAP_FAILED ? -1 : 0, 0);
    expect("made writable later", mprotect(area, whole, both), EACCES);
    expect("grown", mremap(area, whole, 2 * whole, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0, EFAULT);
    const pid_t child = fork();
    if (child == 0) {
        // VM_DONTCOPY: the page isn't there, so the read faults.
        _exit(*static_cast<volatile std::uint8_t*>(area));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) {
        ++failures;
        fmt::print("a child inherited the mapping\n");
    }
    munmap(area, whole);
}

// A ring mapped twice is one ring, and each mapping goes by itself.
void double_mapping(int fd) {
    const auto offset = static_cast<off_t>(fsw_ring_offset(0, FSW_AREA_CONSUMER));
    const int both = PROT_READ | PROT_WRITE;
    void* first = mmap(nullptr, 4096, both, MAP_SHARED, fd, offset);
    void* second = mmap(nullptr, 4096, both, MAP_SHARED, fd, offset);
    expect("mapped once", first == MAP_FAILED ? -1 : 0, 0);
    expect("mapped twice", second == MAP_FAILED ? -1 : 0, 0);
    if (first == MAP_FAILED || second == MAP_FAILED) return;
    auto* mine = static_cast<volatile std::uint64_t*>(first);
    auto* same = static_cast<volatile std::uint64_t*>(second);
    const std::uint64_t before = *mine;
    *mine = 12345;
    if (*same != 12345) ++failures, fmt::print("two mappings of a page differ\n");
    munmap(first, 4096);
    if (*same != 12345) ++failures, fmt::print("a mapping went with another\n");
    *same = before;
    munmap(second, 4096);
}

// Addresses that no program has: the kernel's own, nobody's, one whose argument ends outside.
void bad_pointers(int fd) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* area = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    expect("two pages", munmap(area + page, page), 0);
    const unsigned long writes[] = {FSW_IOC_VARIANT, FSW_IOC_SESSION, FSW_IOC_SET,
                                    FSW_IOC_RECORD,  FSW_IOC_WATCH,   FSW_IOC_MARK,
                                    FSW_IOC_FILTER,  FSW_IOC_TRIGGER};
    const unsigned long reads[] = {FSW_IOC_INFO, FSW_IOC_STATUS};
    for (const std::uint64_t address :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xffff888000000000},
          std::uint64_t{0x800000000000}, ~std::uint64_t{0},
          reinterpret_cast<std::uint64_t>(area + page - 1)}) {
        for (const unsigned long command : writes) {
            expect("argument from nowhere", ioctl(fd, command, address), EFAULT);
        }
        for (const unsigned long command : reads) {
            expect("result to nowhere", ioctl(fd, command, address), EFAULT);
        }
    }
    munmap(area, page);
}

// The descriptor goes while another thread swaps through it: whatever comes first, it ends at stock.
void close_during_swaps(const fsw_info& info, std::mt19937_64& random) {
    for (int round = 0; round < 100; ++round) {
        const int fd = open_device();
        begin(fd);
        std::thread swapper([&] {
            for (std::uint32_t arm = 1;; arm = arm % 255 + 1) {
                fsw_set set{};
                set.arm = arm;
                set.positions = arm & ((1u << info.variants) - 1);
                if (ioctl(fd, FSW_IOC_SET, &set) != 0) break;
            }
            if (errno != ENOLINK && errno != EBADF) expect("set while closing", -1, ENOLINK);
        });
        usleep(random() % 3000);
        close(fd);
        swapper.join();
        const int after = open_device();
        fsw_status status{};
        expect("status", ioctl(after, FSW_IOC_STATUS, &status), 0);
        if (status.arm != 0 || status.positions != info.stock || status.owner_pid != 0) {
            ++failures;
            fmt::print("closed during a swap: arm {}, positions {:x}, owner {}\n", status.arm,
                       status.positions, status.owner_pid);
        }
        close(after);
    }
}

// A child's copies of descriptor and consumer page: the descriptor's end there is not the session's.
void fork_with_descriptor(int fd) {
    const pid_t child = fork();
    if (child == 0) {
        close(fd);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect("lease after a child closed its copy", ioctl(fd, FSW_IOC_LEASE), 0);
}

// Nonsense in the reader's page while the kernel writes: it must only harm this reader.
void hostile_tails(int fd, const fsw_info& info, std::mt19937_64& random) {
    std::vector<volatile std::uint64_t*> tails;
    for (std::uint32_t cpu = 0; cpu < info.cpus; ++cpu) {
        void* area = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          static_cast<off_t>(fsw_ring_offset(cpu, FSW_AREA_CONSUMER)));
        expect("consumer", area == MAP_FAILED ? -1 : 0, 0);
        if (area != MAP_FAILED) tails.push_back(static_cast<volatile std::uint64_t*>(area));
    }
    fsw_record_ctl all{.kinds = 0x7fc, .detail = 0};
    expect("record", ioctl(fd, FSW_IOC_RECORD, &all), 0);
    for (int i = 0; i < 200000; ++i) {
        for (volatile std::uint64_t* tail : tails) *tail = random() >> (random() & 63);
        if (i % 20000 == 0) {
            fsw_set set{};
            set.arm = i % 40000 == 0 ? 0 : 1;
            set.positions = set.arm != 0 ? (1u << info.variants) - 1 : info.stock;
            fsw_filter filter{};
            filter.sample = i % 40000 == 0 ? 3 : 0;
            filter.paths = i % 60000 == 0 ? 1u << FSW_PATH_PICK_KEEP : 0;
            expect("filter meanwhile", ioctl(fd, FSW_IOC_FILTER, &filter), 0);
            expect("set meanwhile", ioctl(fd, FSW_IOC_SET, &set), 0);
            usleep(100000);
        }
    }
    all.kinds = 0;
    expect("stop", ioctl(fd, FSW_IOC_RECORD, &all), 0);
    // The mappings stay: they hold the open file, but must not hold the session.
}

// The same while the rings overwrite and freeze as fast as they can.
void hostile_flight(int fd, const fsw_info& info, std::mt19937_64& random) {
    void* area = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      static_cast<off_t>(fsw_ring_offset(info.cpus - 1, FSW_AREA_CONSUMER)));
    expect("consumer", area == MAP_FAILED ? -1 : 0, 0);
    auto* tail = static_cast<volatile std::uint64_t*>(area);
    fsw_trigger trigger{.latency_ns = 1, .after_ms = 60001, .reserved = 0};
    expect("trigger, too long after", ioctl(fd, FSW_IOC_TRIGGER, &trigger), EINVAL);
    trigger = {.latency_ns = 1, .after_ms = 0, .reserved = 1};
    expect("trigger, reserved not zero", ioctl(fd, FSW_IOC_TRIGGER, &trigger), EINVAL);
    expect("rearm without a trigger", ioctl(fd, FSW_IOC_REARM), EAGAIN);
    trigger.reserved = 0;
    expect("trigger", ioctl(fd, FSW_IOC_TRIGGER, &trigger), 0);
    fsw_watch watch{};
    watch.op = FSW_WATCH_COMM;
    expect("watch of no name", ioctl(fd, FSW_IOC_WATCH, &watch), EINVAL);
    std::memcpy(watch.comm, "hackbench", 9);
    expect("watch by name", ioctl(fd, FSW_IOC_WATCH, &watch), 0);
    fsw_record_ctl all{.kinds = 0x7fc, .detail = 0};
    expect("record", ioctl(fd, FSW_IOC_RECORD, &all), 0);
    expect("trigger while recording", ioctl(fd, FSW_IOC_TRIGGER, &trigger), EALREADY);
    int windows = 0;
    for (int i = 0; i < 20000; ++i) {
        *tail = random() >> (random() & 63);
        if (i % 100 != 0) continue;
        usleep(5000);
        const int result = ioctl(fd, FSW_IOC_REARM);
        if (result != 0 && errno != EAGAIN) expect("rearm", result, EAGAIN);
        windows += result == 0;
    }
    if (windows == 0) ++failures, fmt::print("no window was frozen\n");
    all.kinds = 0;
    expect("stop", ioctl(fd, FSW_IOC_RECORD, &all), 0);
    trigger = {};
    expect("trigger off", ioctl(fd, FSW_IOC_TRIGGER, &trigger), 0);
}

// Any command with any bytes: nothing but errors or harmless success.
void fuzz(int fd, std::mt19937_64& random) {
    for (int i = 0; i < 20000; ++i) {
        std::uint64_t bytes[2048];
        for (std::uint64_t& word : std::span(bytes).first(32)) word = random() >> (random() & 63);
        const auto command =
            static_cast<unsigned long>(_IOC(random() & 3, 'F', random() % 16, random() % 256));
        ioctl(fd, command, bytes);
        // Of any length, up to the 16 KiB that a command can name.
        const auto longer = static_cast<unsigned long>(
            _IOC(random() & 3, random() % 256, random() % 256, random() % 16384));
        ioctl(fd, longer, random() % 2 ? static_cast<void*>(bytes) : nullptr);
    }
}

}  // namespace

int main() {
    std::mt19937_64 random(20261130);
    const int fd = open_device();
    fsw_info info{};
    expect("info", ioctl(fd, FSW_IOC_INFO, &info), 0);
    sessions(fd);
    arguments(fd);
    mappings(fd, info);
    double_mapping(fd);
    bad_pointers(fd);
    fork_with_descriptor(fd);
    hostile_flight(fd, info, random);
    hostile_tails(fd, info, random);
    fuzz(fd, random);
    close(fd);
    // The session ended with the descriptor, although mappings are left.
    const int after = open_device();
    fsw_status status{};
    expect("status", ioctl(after, FSW_IOC_STATUS, &status), 0);
    if (status.arm != 0 || status.recording != 0 || status.owner_pid != 0) {
        ++failures;
        fmt::print("after close: arm {}, recording {:x}, owner {}\n", status.arm, status.recording,
                   status.owner_pid);
    }
    close_during_swaps(info, random);
    fmt::print("{} failures\n", failures);
    return failures == 0 ? 0 : 1;
}
