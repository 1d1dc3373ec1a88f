/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lag that was stored when se was delayed, or 0: nothing stored. Only
 * under hygiene does vlag of a delayed entity hold such a thing.
 */
#define fsw_stored_lag(cfs_rq, se)	(fsw_hygiene(rq_of(cfs_rq)) ? (se)->vlag : 0)
