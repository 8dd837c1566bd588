/* Cancelling a group: its members are in another queue, which the group does not know, and are added and changed meanwhile.
 *
 * `mark` is what the queue of the members knows of the group: nothing, that it has told the group of itself, or that the group
 * is cancelled. delivery.pml shows that reports arrive, and the steps here may be repeated, so `joins` and `cancels` say how many
 * are on the way. A script may stop after any of its writes, and whoever has run it may never repeat it.
 *
 *   rule                  protects  says
 *   JOIN_FIRST            missed    The add of the first member joins before the member can be found.
 *   NOTE_FIRST            missed    The note of a join is written before the mark that it was written.
 *   TELL_JOINED           missed    Whoever cancels the group tells the queues that have joined.
 *   ANSWER_JOIN           missed    The join to a group that is cancelled is answered with that.
 *   SWEEP_MARKED          missed    A queue that learns that the group is cancelled cancels all its members.
 *   MARK_CANCELLED        missed    It also marks the group, before it has gone through them.
 *   SWEEP_LATER           missed    An add that finds that mark has its own members cancelled later.
 *   SWEEP_ATTACHED        missed    So has whoever gives a member another name, while a sweep is noted.
 *   JOIN_AGAIN            missed    An old mark goes as a whole, so the next member joins again.
 */
#define MEMBERS 2
#define NAMES 3  /* places of names in the order in which they are gone through */
#define ONLY 10  /* a sweep of one name: this and the name, instead of the name behind which it goes on */
#ifndef MOST
#define MOST 2   /* reports on the way, of each kind, and sweeps */
#endif

mtype = { none, joined, cancelled }
mtype mark = none;

/* The group. */
bool has_joined, is_cancelled, acknowledged;

/* The members, each added once: its name, and whether it waits. */
byte name[MEMBERS];
bool added[MEMBERS], lives[MEMBERS];

byte joins, cancels;
chan sweeps = [MOST + 1] of { byte };

/* After which write the next script stops; 0: after none. */
byte stops;
byte cursor, m, next;
bool missed;

#define has_room (joins < MOST && cancels < MOST && len(sweeps) < MOST)
#define is_free(n) (!(lives[0] && name[0] == n) && !(lives[1] && name[1] == n))

/* The first writes of a step about a member, unless the mark is there; the other queue is told. */
inline join() {
	if
	:: NOTE_FIRST -> joins++;
		if
		:: stops != 1 -> mark = joined
		:: else
		fi
	:: else -> mark = joined;
		if
		:: stops != 1 -> joins++
		:: else
		fi
	fi
}

inline write_member(which, n) {
	printf("write_member: %d as %d\n", which, n);
	added[which] = true;
	lives[which] = true;
	name[which] = n
}

inline add(which, n) {
	if
	:: mark == none && JOIN_FIRST -> join();
		if
		:: stops == 0 -> write_member(which, n)
		:: else
		fi
	:: mark == none && !JOIN_FIRST -> write_member(which, n);
		if
		:: stops == 0 -> join()
		:: else
		fi
	:: mark == joined -> write_member(which, n)
	:: mark == cancelled ->
		if
		:: SWEEP_LATER -> sweeps!ONLY + n
		:: else
		fi;
		write_member(which, n)
	fi;
	stops = 0
}

/* Another name, after a follow-up was attached. */
inline attach(which, n) {
	printf("attach: %d as %d\n", which, n);
	if
	:: mark == none -> join()
	:: mark == cancelled && SWEEP_ATTACHED && len(sweeps) > 0 -> sweeps!ONLY + n
	:: else
	fi;
	if
	:: stops == 0 -> name[which] = n
	:: else
	fi;
	stops = 0
}

inline cancel_group() {
	printf("cancel_group: stops %d\n", stops);
	if
	:: has_joined && TELL_JOINED -> cancels++
	:: else
	fi;
	if
	:: stops == 0 -> is_cancelled = true; acknowledged = true
	:: else
	fi;
	stops = 0
}

inline take_join() {
	printf("take_join\n");
	joins--;
	if
	:: is_cancelled && ANSWER_JOIN -> cancels++
	:: else
	fi;
	has_joined = true
}

inline take_cancel() {
	printf("take_cancel\n");
	cancels--;
	if
	:: SWEEP_MARKED -> sweeps!0
	:: else
	fi;
	mark = (MARK_CANCELLED -> cancelled : mark)
}

/* One step of a sweep: the next name, or the only one. */
inline sweep() {
	sweeps?cursor;
	next = (cursor > ONLY -> cursor - ONLY : 0); m = 0;
	do
	:: m < MEMBERS ->
		if
		:: lives[m] && name[m] > cursor && (next == 0 || name[m] < next) -> next = name[m]
		:: else
		fi;
		m++
	:: else -> break
	od;
	m = 0;
	do
	:: m < MEMBERS ->
		if
		:: next != 0 && lives[m] && name[m] == next -> lives[m] = false; printf("sweep: %d\n", m)
		:: else
		fi;
		m++
	:: else -> break
	od;
	if
	:: next != 0 && cursor < ONLY -> sweeps!next
	:: else
	fi;
	cursor = 0; next = 0; m = 0
}

inline age() {
	printf("age\n");
	mark = (JOIN_AGAIN || mark != cancelled -> none : joined)
}

active proctype queues() {
	do
	:: d_step { !added[0] && has_room && is_free(1) -> add(0, 1) }
	:: d_step { !added[0] && has_room && is_free(3) -> add(0, 3) }
	:: d_step { !added[1] && has_room && is_free(2) -> add(1, 2) }
	:: d_step { !added[1] && has_room && is_free(1) -> add(1, 1) }
	:: d_step { lives[0] && has_room && is_free(1) -> attach(0, 1) }
	:: d_step { lives[0] && has_room && is_free(2) -> attach(0, 2) }
	:: d_step { lives[0] && has_room && is_free(3) -> attach(0, 3) }
	:: d_step { lives[0] -> lives[0] = false } /* completed */
	:: d_step { !acknowledged && has_room -> cancel_group() }
	:: d_step { joins > 0 && has_room -> take_join() }
	:: d_step { cancels > 0 && has_room -> take_cancel() }
	:: d_step { len(sweeps) > 0 -> sweep() }
	:: d_step { mark != none -> age() }
	:: d_step { stops == 0 -> stops = 1 }
	:: d_step { stops == 1 -> stops = 2 }
	:: break
	od;
	/* Then only a cleaner. */
	stops = 0;
	do
	:: d_step { joins > 0 && cancels < MOST + 2 -> take_join() }
	:: d_step { cancels > 0 && len(sweeps) <= MOST -> take_cancel() }
	:: d_step { len(sweeps) > 0 -> sweep() }
	:: else -> break
	od;
	missed = acknowledged && (lives[0] || lives[1]);
	assert(!(MISSED && missed))
}
