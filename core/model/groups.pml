/* Groups: places that are filled when their members end, and the follow-ups that the group adds then.
 *
 * The queue of the group has the member of place NEAR; another queue has the member of place FAR, and reports its ends
 * through the outbox. delivery.pml shows that reports of an incarnation arrive once and in order, so `outbox` is a
 * channel here. A step that has used up its budget leaves the report of NEAR in `deferred`.
 *
 * In a chain, FAR is a follow-up of NEAR, which fires when NEAR is completed. Until then NEAR reports for both places.
 *
 *   rule                  protects  says
 *   SEAL_LAST             stranded  Who seals has added all members before.
 *   SEALED                early     Nothing fires before the group is sealed.
 *   SEAL_FIRES            lost      Sealing looks whether all places are filled already.
 *   FIRE_WITH_FILL        lost      The step that fills the last place also adds what fires.
 *   ENDED_IS_FINAL        twice     A group that has ended ignores all reports.
 *   BY_PLACE              early     Places are filled, not reports counted.
 *   GROUP_NUMBER          early     A report names the number of the group, which a later one of this name does not have.
 *   IN_ORDER              early     Reports of a queue arrive in the order in which it made them.
 *   BEHIND_DEFERRED       early     While reports are deferred, later ones are deferred too.
 *   REQUEUE_EMPTIES       early     A requeue empties the place of a dead member.
 *   LATE_COMPLETES        lost      The late completion of a dead member turns its place into completed.
 *   TAKE_OVER             early     A replacement that names the same place fires nothing, and empties it if it is filled.
 *   REPLACED_ENDS         stranded  Another replacement ends the place of a member that lives.
 *   DROP_REPORTS          stranded  A drop of the member's queue ends the places of members that live.
 *   BEHIND_ENDS           stranded  A member that ends without completion also ends the places of the steps behind it.
 *   REFUSED_ENDS          stranded  If the add of a member returns false, the queue that refuses it ends its place.
 *   REPEAT_IS_NONE        early     An add that finds the member of its own place in the way is a repeat, and refuses nothing.
 *   REFUSED_IF_OPEN       lost      A refusal does not change a place that is filled.
 *   ADDED_OPENS           early     The add of a member that was refused before opens its place.
 *   LATER_STEP            stranded  A place ignores reports of steps that come before one whose report it has seen.
 *   EXPIRE_UNSEALED       lost      Only a group that is not sealed expires.
 */
#define NEAR 0
#define FAR 1
#define PLACES 2
#define GROUPS 2  /* that have the same name, one after the other */
#define REPORTS 4 /* that may be on the way from one queue */
#ifndef RUNS
#define RUNS 2    /* requeues and replacements of one member */
#endif

mtype = { open, ended, completed, refused, added }
/* Places are open, ended, completed or refused, which is ended, too; reports also say that a member was added after a refusal. */

/* The group: `group` is its number, 0 if there is none. */
byte group, groups, filled;
bool sealed, has_ended;
mtype place[PLACES];

/* What the group has fired, of each number. */
bool fired_ended[GROUPS + 1], fired_completed[GROUPS + 1], was_sealed[GROUPS + 1];

/* The members: the number of the group that a member names, what the group should know of it, and whether it is dead and
 * could be requeued. */
byte member_of[PLACES], runs[PLACES], joined[PLACES];
mtype state[PLACES];
bool dead[PLACES], has_member_ended[PLACES], was_refused[PLACES];
bool far_dropped;

/* Whether FAR is a follow-up of NEAR, and whether it is on its way to the other queue. */
bool chain, follow_up, arrived;

/* The step that has reported last for the place FAR: NEAR or FAR. */
byte step_seen;

/* Reports: number of the group, the place, and what it is now. NEAR reports for both places of a chain. */
chan deferred = [REPORTS] of { byte, byte, mtype };
chan outbox = [REPORTS] of { byte, byte, mtype };
byte on_the_way[PLACES];

byte number, p, at;
mtype what, now_is;
bool lost, twice, early, stranded;

/* All places are filled. What fires must agree with what the members are, unless a report is on the way. */
inline fire() {
	p = 0;
	do
	:: p < PLACES ->
		if
		:: joined[p] != group || !has_member_ended[p] || state[p] == open && on_the_way[p] == 0 ->
			early = true; assert(!(EARLY && early))
		:: else
		fi;
		if
		:: state[p] == completed && place[p] != completed && on_the_way[p] == 0 -> lost = true; assert(!(LOST && lost))
		:: else
		fi;
		p++
	:: else -> break
	od;
	p = 0;
	if
	:: fired_ended[group] && (!has_ended || place[NEAR] == completed && place[FAR] == completed) ->
		twice = true; assert(!(TWICE && twice))
	:: else
	fi;
	has_ended = true;
	fired_ended[group] = true;
	if
	:: place[NEAR] == completed && place[FAR] == completed -> fired_completed[group] = true
	:: else
	fi
}

#define all_filled (BY_PLACE && place[NEAR] != open && place[FAR] != open || !BY_PLACE && filled >= PLACES)

/* The group's queue executes a report. */
inline fill(step, whose, where, now) {
	printf("fill: group %d, place %d: %e\n", whose, where, now);
	if
	:: whose == member_of[where] && on_the_way[where] > 0 -> on_the_way[where]--
	:: else
	fi;
	if
	:: group == 0 || GROUP_NUMBER && whose != group || ENDED_IS_FINAL && has_ended
	:: LATER_STEP && where == FAR && step < step_seen
	:: else ->
		now_is = now;
		if
		:: now == refused && REFUSED_IF_OPEN && place[where] != open -> now_is = place[where]
		:: now == added -> now_is = (place[where] == refused -> open : place[where])
		:: else
		fi;
		if
		:: now_is == open && filled > 0 -> filled--
		:: now_is != open -> filled++
		:: else
		fi;
		place[where] = now_is; now_is = 0;
		if
		:: where == FAR -> step_seen = step
		:: else
		fi;
		if
		:: (sealed || !SEALED) && all_filled && FIRE_WITH_FILL -> fire()
		:: else
		fi
	fi
}

/* A queue reports what a place is now. */
inline send(step, where, now) {
	on_the_way[where]++;
	if
	:: step == FAR -> outbox!member_of[where], where, now
	:: step == NEAR && (defers || BEHIND_DEFERRED && len(deferred) > 0) -> deferred!member_of[where], where, now
	:: else -> fill(step, member_of[where], where, now)
	fi
}

/* A member reports what its place is now, or the one behind it. */
inline report_place(step, where, now) {
	state[where] = now;
	if
	:: now != open -> has_member_ended[where] = true
	:: else
	fi;
	send(step, where, now)
}

inline report(step, now) {
	report_place(step, step, now);
	if
	:: step == NEAR && chain && now == completed -> follow_up = true
	:: step == NEAR && chain && now != completed && BEHIND_ENDS -> report_place(NEAR, FAR, now)
	:: else
	fi
}

#define has_room (len(deferred) + 2 <= REPORTS && len(outbox) < REPORTS)
#define lives(where) (member_of[where] != 0 && state[where] == open && !(where == FAR && waits))

/* FAR is not in its queue yet. */
#define waits (chain && !arrived)

inline create_group() {
	groups++;
	printf("create_group: %d\n", groups);
	group = groups;
	sealed = false; has_ended = false; filled = 0;
	place[NEAR] = open; place[FAR] = open; step_seen = NEAR
}

inline add_member(where) {
	printf("add_member: place %d\n", where);
	member_of[where] = group;
	joined[where] = group;
	state[where] = open; dead[where] = false; has_member_ended[where] = false;
	on_the_way[where] = 0; runs[where] = 0; was_refused[where] = false
}

/* Another item has the id of the member: it is not added. */
inline refuse_member(where) {
	printf("refuse_member: place %d\n", where);
	add_member(where);
	was_refused[where] = true;
	if
	:: REFUSED_ENDS -> state[where] = ended; has_member_ended[where] = true; send(where, where, refused)
	:: else -> member_of[where] = 0
	fi
}

/* The add is called once more. A member that has ended and was not kept is refused then, if another item has its id by now. */
inline repeat_add(where) {
	printf("repeat_add: place %d\n", where);
	runs[where]++;
	if
	:: lives(where) && REPEAT_IS_NONE
	:: else -> send(where, where, refused)
	fi
}

/* A member that was refused is added after all. */
inline add_refused(where) {
	printf("add_refused: place %d\n", where);
	runs[where]++;
	was_refused[where] = false;
	state[where] = open;
	if
	:: ADDED_OPENS -> send(where, where, added)
	:: else
	fi
}

/* The first member of a chain brings along the second one. */
inline add_chain() {
	add_member(FAR);
	add_member(NEAR);
	chain = true; follow_up = false; arrived = false
}

/* The other queue adds the follow-up, or refuses it: another item has its id. */
inline add_follow_up(is_refused) {
	printf("add_follow_up: refused %d\n", is_refused);
	follow_up = false;
	arrived = true;
	if
	:: is_refused && REFUSED_ENDS -> report_place(FAR, FAR, ended)
	:: is_refused && !REFUSED_ENDS -> member_of[FAR] = 0
	:: else
	fi
}

inline requeue(where) {
	printf("requeue: place %d\n", where);
	runs[where]++;
	dead[where] = false;
	if
	:: REQUEUE_EMPTIES -> report(where, open)
	:: else -> state[where] = open; state[FAR] = (chain && where == NEAR -> open : state[FAR])
	fi
}

/* Another item replaces the member, and names the same place or none. */
inline replace_member(where, same_place) {
	printf("replace_member: place %d, the same %d\n", where, same_place);
	runs[where]++;
	if
	:: same_place && state[where] == open && !TAKE_OVER -> report(where, ended); state[where] = open
	:: same_place && state[where] != open && TAKE_OVER -> report(where, open)
	:: same_place && state[where] != open && !TAKE_OVER -> state[where] = open
	:: !same_place && state[where] == open && REPLACED_ENDS -> report(where, ended)
	:: !same_place && state[where] == open && !REPLACED_ENDS -> member_of[where] = 0
	:: else
	fi;
	dead[where] = false
}

inline seal() {
	printf("seal\n");
	sealed = true;
	was_sealed[group] = true;
	if
	:: SEAL_FIRES && all_filled -> fire()
	:: else
	fi
}

inline drop_far() {
	printf("drop_far\n");
	far_dropped = true;
	if
	:: lives(FAR) && DROP_REPORTS -> report(FAR, ended)
	:: else
	fi;
	dead[FAR] = false;
	member_of[FAR] = (DROP_REPORTS || !lives(FAR) -> member_of[FAR] : 0)
}

/* What may happen to the member of a place. */
inline step_of_member(where) {
	if
	:: d_step { group != 0 && joined[where] < group && !follow_up && !(where == FAR && far_dropped) && !sealed && !has_ended && !dead[where] && !lives(where) ->
		chain = (joined[NEAR] == group || joined[FAR] == group -> chain : false); add_member(where) }
	:: d_step { group != 0 && joined[where] < group && has_room && !follow_up && !(where == FAR && far_dropped) && !sealed && !has_ended &&
			!dead[where] && !lives(where) ->
		chain = (joined[NEAR] == group || joined[FAR] == group -> chain : false); refuse_member(where) }
	:: d_step { group != 0 && joined[where] == group && member_of[where] == group && has_room && !chain && !dead[where] &&
		runs[where] < RUNS -> repeat_add(where) }
	:: d_step { group != 0 && joined[where] == group && was_refused[where] && has_room && !chain && !has_ended &&
		runs[where] < RUNS -> add_refused(where) }
	:: d_step { lives(where) && has_room -> dead[where] = false; report(where, completed) }
	:: d_step { lives(where) && has_room -> dead[where] = true; report(where, ended) }
	:: d_step { lives(where) && has_room -> report(where, ended) } /* removed, cancelled */
	:: d_step { dead[where] && has_room && runs[where] < RUNS -> requeue(where) }
	:: d_step { dead[where] && has_room -> dead[where] = false;
		if
		:: LATE_COMPLETES -> report(where, completed)
		:: else -> state[where] = completed
		fi }
	:: d_step { (lives(where) || dead[where]) && has_room && runs[where] < RUNS -> replace_member(where, true) }
	:: d_step { (lives(where) || dead[where]) && has_room && runs[where] < RUNS -> replace_member(where, false) }
	fi
}

bool defers;

active proctype queues() {
	do
	:: d_step { group == 0 && groups < GROUPS -> create_group() }
	:: step_of_member(NEAR)
	:: step_of_member(FAR)
	:: d_step { group != 0 && joined[NEAR] < group && joined[FAR] < group && !far_dropped && !sealed &&
		!dead[NEAR] && !dead[FAR] && !lives(NEAR) && !lives(FAR) && !follow_up -> add_chain() }
	:: d_step { follow_up && has_room -> add_follow_up(false) }
	:: d_step { follow_up && has_room -> add_follow_up(true) }
	:: d_step { !far_dropped && joined[FAR] > 0 && has_room -> drop_far() }
	:: d_step { defers = !defers } /* whether the next steps have used up their budget */
	:: d_step { len(deferred) > 0 -> deferred?number, at, what; fill(NEAR, number, at, what); number = 0; at = 0; what = 0 }
	:: d_step { len(outbox) > 0 -> outbox?number, at, what; fill(FAR, number, at, what); number = 0; at = 0; what = 0 }
	:: d_step { !IN_ORDER && len(outbox) > 1 -> outbox?number, at, what; outbox!number, at, what; number = 0; at = 0; what = 0 }
	:: d_step { group != 0 && !sealed && (!SEAL_LAST || joined[NEAR] == group && joined[FAR] == group) -> seal() }
	:: d_step { !FIRE_WITH_FILL && sealed && !has_ended && all_filled -> fire() }
	/* A day has passed without a change; or the group has ended, and nobody asks any more. */
	:: d_step { group != 0 && (!sealed || has_ended || !EXPIRE_UNSEALED) -> group = 0 }
	:: break
	od;
	/* Then only those live who end members, and a cleaner. */
	defers = false;
	do
	:: d_step { len(deferred) > 0 -> deferred?number, at, what; fill(NEAR, number, at, what) }
	:: d_step { len(outbox) > 0 -> outbox?number, at, what; fill(FAR, number, at, what) }
	:: d_step { lives(NEAR) && has_room -> report(NEAR, completed) }
	:: d_step { follow_up && has_room -> add_follow_up(false) }
	:: d_step { lives(FAR) && has_room -> report(FAR, completed) }
	:: else -> break
	od;
	stranded = group != 0 && sealed && !has_ended;
	assert(!(STRANDED && stranded));
	lost = was_sealed[1] && !fired_ended[1] || was_sealed[2] && !fired_ended[2];
	assert(!(LOST && lost))
}
