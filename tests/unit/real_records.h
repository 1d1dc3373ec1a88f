// Records as a 6.12.117 kernel wrote them, and what they say: bytes of logs that exist must be read
// the same way for good. The readable form stands above its bytes.
#pragma once

#include <string>

namespace fairswitch::testing {

struct RealCase {
    const char* name;
    const char* readable;
    const char* hex;
};

inline const RealCase kRealCases[] = {
    {"Task",
     "task { stamp { time_ns: 9189571202 seq: 0 cpu: 0 rq_cpu: 0 arm: 1 generation: 1 } pid: 181 "
     "tgid: 175 start_ns: 7758540605 comm: \"hackbench\\000\\000\\000\\000\\000\\000\\000\" "
     "policy: 0 nice: 0 slice_ns: 1400000 custom_slice: 0 group_kind: 0 group_id: 0 }",
     "f6003aea 000a2609 82babd23 02000000 11000000 00000000 001d0000 00002500 "
     "0000002d 01000000 35010000 0015b500 00001daf 00000021 3def71ce 01000000 "
     "2a106861 636b6265 6e636800 00000000 00003000 3d000000 0041c05c 15000000 "
     "00004800 50005900 00000000 0000007a 07000000 00000000 "},
    {"Requeue",
     "requeue { stamp { time_ns: 9204228772 seq: 26 cpu: 0 rq_cpu: 0 arm: 1 generation: 1 } "
     "entity { pid: 185 flags: 3111 weight: 1048576 slice_ns: 1400000 vruntime_ns: 5658984983 "
     "deadline_ns: 5660384983 lag_ns: 703364 group_id: 0 owned_group_id: 0 } lag_stored_ns: 0 "
     "lag_before_ns: 703364 lag_after_ns: 0 curr_stale_ns: 17997 branches: 0 curr_pid: 178 }",
     "ae011aa1 010a2609 a4629d24 02000000 111a0000 00000000 001d0000 00002500 "
     "0000002d 01000000 35010000 0012490d b9000000 15270c00 00190000 10000000 "
     "000021c0 5c150000 00000029 17424d51 01000000 31d79e62 51010000 003984bb "
     "0a000000 00004100 00000000 00000049 00000000 00000000 19000000 00000000 "
     "002184bb 0a000000 00002900 00000000 00000031 4d460000 00000000 3d000000 "
     "0045b200 00007a08 00000000 00000000 "},
    {"DecisionWithoutPick",
     "decision { stamp { time_ns: 9207170898 seq: 28 cpu: 0 rq_cpu: 0 arm: 1 generation: 1 } "
     "path: PATH_RESCHED_PENDING verdict: VERDICT_KEEP resched: RESCHED_ALREADY wake_flags: 136 "
     "wakee_state: 512 duration_ns: 4627 wakee_pid: 18 curr_pid: 178 wakee { pid: 18 flags: 3107 "
     "weight: 1048576 slice_ns: 1400000 vruntime_ns: 5656714123 deadline_ns: 5658114123 lag_ns: "
     "4000000 group_id: 0 owned_group_id: 0 } curr { pid: 178 flags: 3105 weight: 1048576 "
     "slice_ns: 1400000 vruntime_ns: 5666082418 deadline_ns: 5667131607 lag_ns: -4000000 "
     "group_id: 0 owned_group_id: 0 } queue { queued: 5 h_queued: 5 load: 5120 avg_vruntime_ns: "
     "5660714123 picks: 0 delayed_dequeued: 0 branches: 0 buddy_pid: 0 } }",
     "e60212da 020a2609 5247ca24 02000000 111c0000 00000000 001d0000 00002500 "
     "0000002d 01000000 35010000 00100318 0120022d 88000000 35000200 003d1312 "
     "00004512 0000004d b2000000 52490d12 00000015 230c0000 19000010 00000000 "
     "0021c05c 15000000 0000298b 9b2a5101 00000031 4bf83f51 01000000 3900093d "
     "00000000 00410000 00000000 00004900 00000000 0000005a 490db200 00001521 "
     "0c000019 00001000 00000000 21c05c15 00000000 0029728e b9510100 000031d7 "
     "90c95101 00000039 00f7c2ff ffffffff 41000000 00000000 00490000 00000000 "
     "00007a49 0d000000 00150000 00001900 00000000 00000021 00000000 00000000 "
     "29000000 00000000 00310000 00000000 00003900 00000000 00000041 00000000 "
     "00000000 49000000 00000000 006a300d 05000000 15050000 00190014 00000000 "
     "0000218b a4675101 0000002d 00000000 35000000 003d0000 00004500 0000007a "
     "07000000 00000000 "},
    {"Decision",
     "decision { stamp { time_ns: 9211277652 seq: 33 cpu: 0 rq_cpu: 0 arm: 1 generation: 1 } "
     "path: PATH_PICK_PREEMPT verdict: VERDICT_PREEMPT resched: RESCHED_NOW_LOCAL wake_flags: "
     "152 wakee_state: 512 duration_ns: 122372 wakee_pid: 183 curr_pid: 178 wakee { pid: 183 "
     "flags: 3107 weight: 1048576 slice_ns: 1400000 vruntime_ns: 5663639018 deadline_ns: "
     "5665039018 lag_ns: 1259346 group_id: 0 owned_group_id: 0 } curr { pid: 178 flags: 3113 "
     "weight: 1048576 slice_ns: 1400000 vruntime_ns: 5666157710 deadline_ns: 5667131607 lag_ns: "
     "-1259346 group_id: 0 owned_group_id: 0 } picked { pid: 183 flags: 3107 weight: 1048576 "
     "slice_ns: 1400000 vruntime_ns: 5663639018 deadline_ns: 5665039018 lag_ns: 1259346 "
     "group_id: 0 owned_group_id: 0 } queue { queued: 2 h_queued: 2 load: 2048 avg_vruntime_ns: "
     "5664898364 picks: 1 delayed_dequeued: 0 branches: 24 buddy_pid: 0 } }",
     "e60212da 020a2609 54f10825 02000000 11210000 00000000 001d0000 00002500 "
     "0000002d 01000000 35010000 00100818 0220042d 98000000 35000200 003d04de "
     "010045b7 0000004d b2000000 52490db7 00000015 230c0000 19000010 00000000 "
     "0021c05c 15000000 000029ea 45945101 00000031 aaa2a951 01000000 39523713 "
     "00000000 00410000 00000000 00004900 00000000 0000005a 490db200 00001529 "
     "0c000019 00001000 00000000 21c05c15 00000000 00298eb4 ba510100 000031d7 "
     "90c95101 00000039 aec8ecff ffffffff 41000000 00000000 00490000 00000000 "
     "00006249 0db70000 0015230c 00001900 00100000 00000021 c05c1500 00000000 "
     "29ea4594 51010000 0031aaa2 a9510100 00003952 37130000 00000041 00000000 "
     "00000000 49000000 00000000 006a300d 02000000 15020000 00190008 00000000 "
     "0000213c 7da75101 0000002d 01000000 35000000 003d1800 00004500 0000007a "
     "07000000 00000000 "},
    {"Marker",
     "marker { stamp { time_ns: 9186568446 seq: 0 cpu: 1 rq_cpu: 1 arm: 1 generation: 1 } id: 3 "
     "value: 0 }",
     "be0052b6 000a2609 fee88f23 02000000 11000000 00000000 001d0100 00002501 "
     "0000002d 01000000 35010000 00150300 00001900 00000000 0000007a 03000000 "},
    {"WakeWithoutTimer",
     "wake { stamp { time_ns: 9233470855 seq: 0 cpu: 1 rq_cpu: 1 arm: 1 generation: 1 } pid: 188 "
     "waker_pid: 176 task_cpu: 0 source: WAKE_OTHER timer_slack_ns: 50000 }",
     "ee002ae6 000a2609 87955b26 02000000 11000000 00000000 001d0100 00002501 "
     "0000002d 01000000 35010000 0015bc00 00001db0 00000025 00000000 28023150 "
     "c3000000 0000007a 22090000 00000000 00001100 00000000 00000019 00000000 "
     "00000000 25000000 0028007a 03000000 "},
    {"Brief",
     "brief { stamp { time_ns: 17152801197 seq: 40 cpu: 0 rq_cpu: 0 arm: 0 generation: 1 } "
     "path: PATH_PICK_KEEP verdict: VERDICT_KEEP resched: RESCHED_NONE wakee_pid: 169 "
     "curr_pid: 173 picked_pid: 173 }",
     "c60072bd 000a2609 adf962fe 03000000 11280000 00000000 001d0000 00002500 "
     "0000002d 00000000 35010000 00100918 0120012d a9000000 35ad0000 003dad00 "
     "00007a04 00000000 "},
    {"Switch",
     "switch { stamp { time_ns: 9233891710 seq: 18 cpu: 1 rq_cpu: 1 arm: 1 generation: 1 } "
     "prev_pid: 176 next_pid: 188 prev_state: 1 preempted: 0 }",
     "c60032b9 000a2609 7e016226 02000000 11120000 00000000 001d0100 00002501 "
     "0000002d 01000000 35010000 0015b000 00001dbc 00000025 01000000 28007a08 "
     "00000000 00000000 "},
    {"Delay",
     "delay { stamp { time_ns: 9238795447 seq: 22 cpu: 1 rq_cpu: 1 arm: 1 generation: 1 } entity "
     "{ pid: 176 flags: 3119 weight: 1048576 slice_ns: 1400000 vruntime_ns: 3450821751 "
     "deadline_ns: 3451587711 lag_ns: 2172083 group_id: 0 owned_group_id: 0 } verdict: "
     "DELAY_FINISHED lag_stored_ns: 0 lag_after_ns: 0 dequeue_flags: 513 branches: 0 }",
     "9e012291 010a2609 b7d4ac26 02000000 11160000 00000000 001d0100 00002501 "
     "0000002d 01000000 35010000 0012490d b0000000 152f0c00 00190000 10000000 "
     "000021c0 5c150000 00000029 775cafcd 00000000 317f0cbb cd000000 0039b324 "
     "21000000 00004100 00000000 00000049 00000000 00000000 18032100 00000000 "
     "00000029 00000000 00000000 35010200 003d0000 00007a08 00000000 00000000 "},
    {"Wake",
     "wake { stamp { time_ns: 9414845337 seq: 0 cpu: 0 rq_cpu: 0 arm: 1 generation: 1 } pid: 190 "
     "waker_pid: 0 task_cpu: 0 source: WAKE_TIMER timer_slack_ns: 50000 timer { soft_expiry_ns: "
     "9407294732 hard_expiry_ns: 9407344732 fired_ns: 9414838176 fired_cpu: 0 clock: 1 } }",
     "ee002ae6 000a2609 99232b31 02000000 11000000 00000000 001d0000 00002500 "
     "0000002d 01000000 35010000 0015be00 00001d00 00000025 00000000 28013150 "
     "c3000000 0000003a 22090ced b7300200 0000115c b0b83002 00000019 a0072b31 "
     "02000000 25000000 0028017a 03000000 "},
    {"Swap",
     "swap { stamp { time_ns: 19351231177 seq: 23983 cpu: 0 rq_cpu: 0 arm: 140 generation: 4 } "
     "old_arm: 0 old_generation: 3 positions: 12 reason: SWAP_SET requested_ns: 19351125440 "
     "delayed_in_flight: 0 lags_zeroed: 0 }",
     "d60042cc 000a2609 c95a6c81 04000000 11af5d00 00000000 001d0000 00002500 "
     "0000002d 8c000000 35040000 00150000 00001d03 00000025 0c000000 280131c0 "
     "bd6a8104 0000003d 00000000 45000000 007a0500 00000000 "},
    {"Lost",
     "lost { stamp { time_ns: 11822661708 seq: 0 cpu: 0 rq_cpu: 0 arm: 1 generation: 1 } "
     "first_ns: 11822540318 last_ns: 11822615830 decisions: 2 requeues: 0 delays: 0 wakes: 0 "
     "switches: 0 tasks: 0 swaps: 0 markers: 0 }",
     "ee004ae2 000a2609 4c80afc0 02000000 11000000 00000000 001d0000 00002500 "
     "0000002d 01000000 35010000 00111ea6 adc00200 00001916 cdaec002 00000025 "
     "02000000 2d000000 00350000 00003d00 00000045 00000000 4d000000 00550000 "
     "00005d00 0000007a 07000000 00000000 "},
};

inline std::string bytes_of_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t at = 0; at < hex.size();) {
        if (hex[at] == ' ') {
            ++at;
            continue;
        }
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
        at += 2;
    }
    return bytes;
}

}  // namespace fairswitch::testing
