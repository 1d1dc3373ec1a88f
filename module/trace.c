// SPDX-License-Identifier: GPL-2.0
#include <linux/string.h>

#include "gate.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Under tracepoints_mutex: takes only the listeners' lock, never the session's. */
int fsw_trace_reg(void)
{
	fsw_gate_listen(FSW_LISTENER_TRACE, FSW_WORD_LISTENING);
	return 0;
}

/* Also after the module's exit, if the event is still on: the gates are closed then. */
void fsw_trace_unreg(void)
{
	fsw_gate_listen(FSW_LISTENER_TRACE, 0);
}
