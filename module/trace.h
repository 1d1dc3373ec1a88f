/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace event fairswitch:decision, for perf, trace-cmd, bpftrace and tracefs.
 * It needs no session and knows no filter: enabling it turns the taps on.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM fairswitch

#if !defined(FAIRSWITCH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FAIRSWITCH_TRACE_H

#include <linux/tracepoint.h>

#include <fairswitch/record.h>

/* Called with tracepoints_mutex held. */
int fsw_trace_reg(void);
void fsw_trace_unreg(void);

#define FSW_TRACE_PATHS(P)			\
	P(SAME_ENTITY, "same-entity")		\
	P(THROTTLED, "throttled")		\
	P(RESCHED_PENDING, "resched-pending")	\
	P(PREEMPTION_OFF, "preemption-off")	\
	P(IDLE_PREEMPT, "idle-preempt")		\
	P(IDLE_KEEP, "idle-keep")		\
	P(POLICY_KEEP, "policy-keep")		\
	P(PICK_PREEMPT, "pick-preempt")		\
	P(PICK_KEEP, "pick-keep")		\
	P(CANCEL_PREEMPT, "cancel-preempt")	\
	P(OTHER_CLASS, "other-class")		\
	P(DELAYED_KEEP, "delayed-keep")		\
	P(FORK_KEEP, "fork-keep")		\
	P(SYNC_KEEP, "sync-keep")		\
	P(SYNC_PREEMPT, "sync-preempt")

#define FSW_TRACE_RESCHEDS(R)			\
	R(NONE, "none")				\
	R(ALREADY, "already")			\
	R(LAZY, "lazy")				\
	R(NOW_LOCAL, "now-local")		\
	R(NOW_IPI, "now-ipi")

/* Programs that read the format know numbers only. */
#define FSW_TRACE_PATH_ENUM(NAME, text)		TRACE_DEFINE_ENUM(FSW_PATH_##NAME);
#define FSW_TRACE_RESCHED_ENUM(NAME, text)	TRACE_DEFINE_ENUM(FSW_RESCHED_##NAME);
FSW_TRACE_PATHS(FSW_TRACE_PATH_ENUM)
FSW_TRACE_RESCHEDS(FSW_TRACE_RESCHED_ENUM)
TRACE_DEFINE_ENUM(FSW_VERDICT_PREEMPT);

#define FSW_TRACE_PATH_TEXT(NAME, text)		{ FSW_PATH_##NAME, text },
#define FSW_TRACE_RESCHED_TEXT(NAME, text)	{ FSW_RESCHED_##NAME, text },

TRACE_EVENT_FN(decision,
	TP_PROTO(const struct fsw_decision *decision, const char *comm,
		 int cpu, u32 arm),
	TP_ARGS(decision, comm, cpu, arm),
	TP_STRUCT__entry(
		__field(u64, at_ns)
		__field(s64, wakee_lag)
		__field(u64, wakee_slice)
		__field(s64, curr_lag)
		__field(u64, curr_slice)
		__array(char, comm, FSW_COMM_BYTES)
		__field(u32, wakee_pid)
		__field(u32, curr_pid)
		__field(u32, arm)
		__field(int, rq_cpu)
		__field(u8, path)
		__field(u8, verdict)
		__field(u8, resched)
	),
	TP_fast_assign(
		__entry->at_ns = decision->stamp.time_ns;
		__entry->wakee_lag = decision->wakee.lag_ns;
		__entry->wakee_slice = decision->wakee.slice_ns;
		__entry->curr_lag = decision->curr.lag_ns;
		__entry->curr_slice = decision->curr.slice_ns;
		memcpy(__entry->comm, comm, FSW_COMM_BYTES);
		__entry->wakee_pid = decision->wakee_pid;
		__entry->curr_pid = decision->curr_pid;
		__entry->arm = arm;
		__entry->rq_cpu = cpu;
		__entry->path = decision->path;
		__entry->verdict = decision->verdict;
		__entry->resched = decision->resched;
	),
	TP_printk("comm=%s pid=%u curr=%u cpu=%d %s path=%s resched=%s lag=%lld slice=%llu curr_lag=%lld curr_slice=%llu arm=%u at=%llu",
		  __entry->comm, __entry->wakee_pid, __entry->curr_pid,
		  __entry->rq_cpu,
		  __entry->verdict == FSW_VERDICT_PREEMPT ? "preempt" : "keep",
		  __print_symbolic(__entry->path,
				   FSW_TRACE_PATHS(FSW_TRACE_PATH_TEXT)
				   { FSW_PATH_UNSPECIFIED, "unspecified" }),
		  __print_symbolic(__entry->resched,
				   FSW_TRACE_RESCHEDS(FSW_TRACE_RESCHED_TEXT)
				   { FSW_RESCHED_UNSPECIFIED, "unspecified" }),
		  __entry->wakee_lag, __entry->wakee_slice,
		  __entry->curr_lag, __entry->curr_slice, __entry->arm,
		  __entry->at_ns),
	fsw_trace_reg, fsw_trace_unreg
);

#endif /* FAIRSWITCH_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
