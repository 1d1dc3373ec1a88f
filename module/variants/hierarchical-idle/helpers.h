/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether se counts as idle at the level where its group ancestors and other's
 * meet. As find_matching_se() walks.
 */
static inline int fsw_idle_where_met(const struct sched_entity *se,
				     const struct sched_entity *other)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	while (se->depth > other->depth)
		se = se->parent;
	while (other->depth > se->depth)
		other = other->parent;
	while (se->parent != other->parent) {
		se = se->parent;
		other = other->parent;
	}
	if (se->my_q)
		return se->my_q->idle > 0;
#endif
	return container_of(se, struct task_struct, se)->policy == SCHED_IDLE;
}
