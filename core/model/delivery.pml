/* Delivery: how the entries of a source queue's outbox reach one target queue.
 *
 * A request may be lost, doubled and late, as may its answer, and whoever forwards may die between any two steps. So
 * nobody forwards here as a process: what can be read of the outbox, somebody has read (`forwards`), and a request or
 * an answer arrives at any later time, any number of times, or never. Each step is one script.
 *
 *   rule                  protects  says
 *   PREFIX                lost      A forward has the oldest entries for its target, without a gap.
 *   SKIP_DELIVERED        twice     The target skips numbers at or below the lane's, and counts them as delivered.
 *   LANE_WITH_ADD         twice     The step that adds also sets the lane.
 *   DELETE_AFTER_ANSWER   lost      The source deletes an entry only after the answer of the target.
 *   DELETE_BY_NUMBER      lost      The step that deletes names each entry by its number, which exists once.
 *   CLOCK_COUNT           lost      Numbers follow the clock, so none is given again after a loss of data.
 *   CLOCK_AHEAD           lost      Assumed: the clock of a server that takes over is ahead of the last numbers.
 *   LANE_OF_INCARNATION   lost      A lane is named after the source and its incarnation.
 *   LANE_OUTLIVES_TARGET  twice     A drop of the target spares its lanes.
 *   SWEEP_GONE            twice     A lane is swept only if its incarnation is gone, with all its entries.
 *   FORGOTTEN             twice     Sweeping a lane raises `forgotten` to its number. A forward without a lane that
 *                                   begins at or below `forgotten` is too old: the target executes nothing of it.
 *   RENUMBER              stranded  The source gives entries that are too old numbers above `forgotten`.
 *   DROP_REFUSED          lost      A drop of the source is refused while its outbox has entries, unless forced.
 *   DROP_KEEPS_REPORTS    lost      A forced drop keeps the reports to groups, and they are still forwarded.
 *   GIVE_UP_IN_LANE       twice     The target gives an entry up, under the lane; then the source buries it.
 *   REMEMBER_GIVEN_UP     lost      The lane knows what it has given up until a forward begins behind it.
 *   CLEANER_FORWARDS      stranded  Cleaners forward too, with all rights.
 */
#ifndef ENTRIES
#define ENTRIES 3 /* endings with a follow-up, which write one entry each */
#endif
#define NUMBERED (ENTRIES + 2) /* entries, including those that are renumbered */
#ifndef INCARNATIONS
#define INCARNATIONS 2 /* of the source, at most 2 */
#endif
#ifndef LOSSES
#define LOSSES 1       /* of data, by source or target */
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 1     /* whether entries are given up */
#endif

#define bit(i) (1 << (i))
#define has(set, i) (((set) >> (i)) & 1)

/* An entry as it was written. Its place in the array is its number with the salt: unique, and in order of writing. */
typedef Entry { byte count; byte incarnation; byte follow_up }
Entry entry[NUMBERED];
byte entries, follow_ups;

/* The clock of the servers. Steps may be faster: then counts run ahead of it. */
byte clock, highest;

/* The source queue. `incarnation`: 0 if there is none. `outbox` has the entries of dropped incarnations, too. */
typedef Source { byte incarnation; byte last; byte outbox; byte buried; byte entries }
Source source, source_copy;
byte incarnations;
byte reports;                  /* the follow-ups that are reports to groups */

/* The target queue: `lane` has a count for each incarnation of the source, 0 if there is no lane. */
typedef Target { byte lane[3]; byte forgotten; byte given_up; byte added }
Target target, target_copy;

/* Messages. They stay for ever. A forward is a set of entries, and so is its answer. */
int forwards;
int answers;
byte give_ups, gave_up, too_old; /* entries: requests to give up, and answers */

/* What a loss of data or a forced drop excuses: follow-ups. */
byte may_be_lost, may_repeat;

byte losses, rounds;
bool copied;
bool lost, twice, stranded;

inline add_to_target(what) {
	if
	:: has(target.added, what) && !has(may_repeat, what) -> twice = true; assert(!(TWICE && twice))
	:: else -> target.added = target.added | bit(what)
	fi
}

/* Every prefix of the outbox may have been read. Without PREFIX, every part of it. */
inline read_outbox() {
	c = 1;
	do
	:: c <= INCARNATIONS ->
		m = 0; e = 0;
		do
		:: e < entries ->
			if
			:: has(source.outbox, e) && entry[e].incarnation == c ->
				m = m | bit(e);
				forwards = forwards | bit(m);
				if
				:: !PREFIX -> forwards = forwards | bit(bit(e))
				:: else
				fi
			:: else
			fi;
			e++
		:: else -> break
		od;
		c++
	:: else -> break
	od
}

inline write_entry(what, whose, above) {
	entry[entries].count = above + 1;
	if
	:: CLOCK_COUNT && clock > entry[entries].count -> entry[entries].count = clock
	:: else
	fi;
	if
	:: entry[entries].count > highest -> highest = entry[entries].count
	:: else
	fi;
	entry[entries].incarnation = whose;
	entry[entries].follow_up = what;
	source.outbox = source.outbox | bit(entries);
	entries++;
	source.entries = entries
}

/* An item of the source ends. The step writes an entry. The first one makes the queue. */
inline end_item(report) {
	if
	:: source.incarnation == 0 -> incarnations++; source.incarnation = incarnations
	:: else
	fi;
	if
	:: report -> reports = reports | bit(follow_ups)
	:: else
	fi;
	printf("end_item: entry %d, incarnation %d\n", entries, source.incarnation);
	write_entry(follow_ups, source.incarnation, source.last);
	source.last = entry[entries - 1].count;
	follow_ups++;
	read_outbox()
}

#define lane_of(e) target.lane[(LANE_OF_INCARNATION -> entry[e].incarnation : 1)]

/* The target executes the forward of the entries m. */
inline forward(m, gives_up) {
	printf("forward: entries %x, gives up %d\n", m, gives_up);
	e = 0;
	do
	:: !has(m, e) -> e++
	:: else -> break
	od;
	if
	:: FORGOTTEN && lane_of(e) == 0 && entry[e].count <= target.forgotten -> too_old = too_old | bit(e)
	:: else ->
		/* It begins at e, so the source has deleted what is before. */
		c = 0;
		do
		:: c < e ->
			if
			:: entry[c].incarnation == entry[e].incarnation -> target.given_up = target.given_up & ~bit(c)
			:: else
			fi;
			c++
		:: else -> break
		od;
		do
		:: e < entries && has(m, e) ->
			if
			:: SKIP_DELIVERED && entry[e].count <= lane_of(e)
			:: else ->
				if
				:: gives_up && REMEMBER_GIVEN_UP -> target.given_up = target.given_up | bit(e)
				:: gives_up && !REMEMBER_GIVEN_UP -> given_up_now = true
				:: else -> add_to_target(entry[e].follow_up)
				fi;
				if
				:: entry[e].count > lane_of(e) -> lane_of(e) = entry[e].count
				:: else
				fi
			fi;
			e++
		:: e < entries && !has(m, e) -> e++
		:: else -> break
		od;
		if
		:: given_up_now -> given_up_now = false /* and the answer is lost, which is the interesting case */
		:: else -> answers = answers | bit(m); gave_up = gave_up | (target.given_up & m)
		fi
	fi
}

/* The source deletes the entries m, of which the target has answered, and buries those that it gave up. */
inline delete_entries(m) {
	printf("delete_entries: %x\n", m);
	e = 0;
	do
	:: e < entries ->
		if
		:: has(source.outbox, e) && has(m, e) ->
			if
			:: has(gave_up, e) -> bury(e)
			:: else
			fi;
			source.outbox = source.outbox & ~bit(e)
		:: !DELETE_BY_NUMBER && has(source.outbox, e) && !has(m, e) ->
			/* As many as the count of the last one says. */
			c = entries - 1;
			do
			:: !has(m, c) -> c--
			:: else -> break
			od;
			if
			:: entry[e].count <= entry[c].count -> source.outbox = source.outbox & ~bit(e)
			:: else
			fi
		:: else
		fi;
		e++
	:: else -> break
	od
}

inline bury(b) {
	printf("bury: entry %d\n", b);
	if
	:: has(source.buried | target.added, entry[b].follow_up) && !has(may_repeat, entry[b].follow_up) ->
		twice = true; assert(!(TWICE && twice))
	:: else -> source.buried = source.buried | bit(entry[b].follow_up)
	fi
}

/* The source renumbers an entry that is too old. An incarnation that was dropped still knows its last number. */
inline renumber(r) {
	printf("renumber: entry %d becomes %d\n", r, entries);
	c = target.forgotten; e = 0;
	do
	:: e < entries ->
		if
		:: entry[e].incarnation == entry[r].incarnation && entry[e].count > c -> c = entry[e].count
		:: else
		fi;
		e++
	:: else -> break
	od;
	source.outbox = source.outbox & ~bit(r);
	write_entry(entry[r].follow_up, entry[r].incarnation, c);
	if
	:: entry[r].incarnation == source.incarnation -> source.last = entry[entries - 1].count
	:: else
	fi;
	read_outbox()
}

/* The source is dropped. Only a forced drop takes the follow-ups along; a group still gets its reports. */
inline drop_source() {
	printf("drop_source\n");
	e = 0;
	do
	:: e < entries ->
		if
		:: !has(source.outbox, e) || DROP_KEEPS_REPORTS && has(reports, entry[e].follow_up)
		:: else ->
			source.outbox = source.outbox & ~bit(e);
			if
			:: DROP_REFUSED && !has(reports, entry[e].follow_up) ->
				may_be_lost = may_be_lost | bit(entry[e].follow_up)
			:: else
			fi
		fi;
		e++
	:: else -> break
	od;
	source.incarnation = 0;
	source.last = 0
}

/* Whether an incarnation is gone, with all its entries, and its lane idle, for longer than a loss of data reaches back. */
inline find_gone(i) {
	gone = i != source.incarnation &&
		!(copied && (i == source_copy.incarnation || target.lane[i] != target_copy.lane[i]));
	e = 0;
	do
	:: e < entries ->
		if
		:: has(source.outbox | (copied -> source_copy.outbox : 0), e) && entry[e].incarnation == i -> gone = false
		:: else
		fi;
		e++
	:: else -> break
	od
}

inline sweep(i) {
	printf("sweep: lane %d\n", i);
	if
	:: FORGOTTEN && target.lane[i] > target.forgotten -> target.forgotten = target.lane[i]
	:: else
	fi;
	target.lane[i] = 0
}

inline copy_target(to, from) {
	to.lane[1] = from.lane[1];
	to.lane[2] = from.lane[2];
	to.forgotten = from.forgotten;
	to.given_up = from.given_up;
	to.added = from.added
}

inline copy_source(to, from) {
	to.incarnation = from.incarnation;
	to.last = from.last;
	to.outbox = from.outbox;
	to.buried = from.buried;
	to.entries = from.entries
}

/* A replica takes over that lacks the latest data. */
inline lose_data(of_source) {
	printf("lose_data: source %d\n", of_source);
	if
	:: of_source ->
		e = source_copy.entries;
		do
		:: e < entries ->
			/* The ending is lost, and will be repeated; or that the entry was renumbered. */
			may_be_lost = may_be_lost | bit(entry[e].follow_up);
			may_repeat = may_repeat | bit(entry[e].follow_up);
			e++
		:: else -> break
		od;
		may_be_lost = may_be_lost | (source.buried & ~source_copy.buried);
		copy_source(source, source_copy);
		read_outbox()
	:: else ->
		e = 0;
		do
		:: e < entries ->
			if
			:: target.forgotten != target_copy.forgotten && has(too_old, e) ->
				may_repeat = may_repeat | bit(entry[e].follow_up)
			:: else
			fi;
			if
			:: entry[e].count <= lane_of(e) && entry[e].count > target_copy.lane[entry[e].incarnation] ->
				may_be_lost = may_be_lost | bit(entry[e].follow_up);
				may_repeat = may_repeat | bit(entry[e].follow_up)
			:: else
			fi;
			e++
		:: else -> break
		od;
		copy_target(target, target_copy)
	fi;
	if
	:: CLOCK_AHEAD && clock <= highest -> clock = highest + 1
	:: else
	fi
}

byte m, e, c, i;
bool gone, given_up_now;

/* Some message, or entry, of those in the set. */
inline pick(x, set) {
	x = 0;
	do
	:: has(set, x) -> break
	:: (set) >> (x + 1) -> x++
	od
}

#define can_end (follow_ups < ENTRIES && (source.incarnation != 0 || incarnations < INCARNATIONS))
inline done() { m = 0; e = 0; c = 0; i = 0; gone = false }

active proctype queues() {
	/* Everything that may happen. */
	do
	:: d_step { can_end -> end_item(false); done() }
	:: d_step { can_end -> end_item(true); done() }
	:: d_step { clock < 2 -> clock++ }
	:: atomic { forwards != 0 -> pick(m, forwards); d_step { forward(m, false); done() } }
	:: atomic { give_ups != 0 -> pick(i, give_ups); d_step { m = bit(i); forward(m, true); done() } }
	:: atomic { answers != 0 -> pick(m, answers); d_step { delete_entries(m); done() } }
	:: atomic {
		!DELETE_AFTER_ANSWER && forwards != 0 -> pick(m, forwards); d_step { delete_entries(m); done() }
	   }
	:: atomic {
		RENUMBER && (too_old & source.outbox) != 0 && entries < NUMBERED ->
		pick(i, (too_old & source.outbox)); d_step { renumber(i); done() }
	   }
	/* Somebody finds that the first entry can never be added. */
	:: d_step { GIVE_UPS && give_ups == 0 && source.outbox != 0 -> pick(i, source.outbox); give_ups = bit(i); done() }
	:: d_step { !GIVE_UP_IN_LANE && (give_ups & source.outbox) != 0 -> pick(i, give_ups); bury(i);
		source.outbox = source.outbox & ~bit(i); done() }
	/* An add without its lane. */
	:: atomic { !LANE_WITH_ADD && forwards != 0 -> pick(m, forwards);
		d_step { i = lane_of(0); forward(m, false); lane_of(0) = i; done() } }
	:: d_step { source.incarnation != 0 -> drop_source(); done() }
	:: d_step { !LANE_OUTLIVES_TARGET -> target.lane[1] = 0; target.lane[2] = 0; target.given_up = 0 }
	:: d_step { target.lane[1] != 0 -> find_gone(1);
		if
		:: gone || !SWEEP_GONE -> sweep(1)
		:: else
		fi; done() }
	:: d_step { target.lane[2] != 0 -> find_gone(2);
		if
		:: gone || !SWEEP_GONE -> sweep(2)
		:: else
		fi; done() }
	:: d_step { losses < LOSSES && !copied -> copied = true; printf("copied\n"); copy_source(source_copy, source); copy_target(target_copy, target) }
	:: d_step { losses < LOSSES && copied -> losses++; copied = false; lose_data(true); done() }
	:: d_step { losses < LOSSES && copied -> losses++; copied = false; lose_data(false); done() }
	:: break
	od;
	/* Then only a cleaner lives. */
	printf("only a cleaner lives\n");
	do
	:: d_step { rounds < NUMBERED && CLEANER_FORWARDS ->
		rounds++;
		i = 1;
		do
		:: i <= INCARNATIONS ->
			m = 0; e = 0;
			do
			:: e < entries ->
				if
				:: has(source.outbox, e) && entry[e].incarnation == i -> m = m | bit(e)
				:: else
				fi;
				e++
			:: else -> break
			od;
			if
			:: m != 0 ->
				forward(m, false);
				if
				:: has(answers, m) -> delete_entries(m)
				:: else
				fi
			:: else
			fi;
			i++
		:: else -> break
		od;
		if
		:: RENUMBER && (too_old & source.outbox) != 0 && entries < NUMBERED ->
			pick(i, (too_old & source.outbox)); renumber(i)
		:: else
		fi;
		done() }
	:: else -> break
	od;
	stranded = source.outbox != 0;
	assert(!(STRANDED && stranded));
	lost = (target.added | source.buried | may_be_lost) != bit(follow_ups) - 1;
	assert(!(LOST && lost))
}
