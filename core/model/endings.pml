/* Endings: which follow-ups an item fires when it ends, and what becomes of its successor.
 *
 * One id of one queue. Its item has a follow-up for each of `completed`, `dead` and `ended`; a completion may add another
 * one, and one may be attached. They are for the same queue. `owed` is what should have been added and was not.
 * Whoever has held a lease may complete it at any later time, any number of times. Each step is one script, and any
 * client may die after it.
 *
 *   rule                  protects  says
 *   FIRE_WITH_END         lost      The step that ends the item adds its follow-ups, or notes them in `deferred`.
 *   DISTRIBUTE_ONCE       twice     The step that adds deferred follow-ups deletes the note.
 *   ONE_COMPLETION        twice     A completion is true for an item that has not been completed, and false else.
 *   ADD_IF_ENDED          twice     A call adds its own follow-ups only if it has ended the item.
 *   FIRED                 twice     A dead item knows what has fired in its run. Its late completion fires only the rest.
 *   NEW_RUN               lost      A requeue begins a run in which nothing has fired.
 *   RECLAIM_FIRES         lost      A reclaim that makes an item dead fires as a failure does.
 *   REMOVE_FIRES          lost      Whatever else ends an item that is not dead fires `ended`.
 *   DEATH_FIRST           lost      A step that finds an item dead that has expired fires its death before all else.
 *   ATTACH_AT_ONCE        lost      What is attached to an item that has ended is added at once.
 *   SUCCESSOR_AT_END      lost      The end of the leased item adds the successor.
 *   SUCCESSOR_IN_STEP     lost      It does so in the same step, whatever the budget.
 *   SUCCESSOR_AT_RETRY    stale     An item that is to be ready again is replaced by its successor instead.
 *   LATEST_SUCCESSOR      lost      A later successor takes the place of the earlier one.
 *   REPLACED_IS_NEW       lost      What replaces an item has a new number, which earlier holders do not have.
 */
#ifndef VERSIONS
#define VERSIONS 3    /* adds of the id that are true */
#endif
#ifndef GENERATIONS
#define GENERATIONS 4
#endif
#ifndef RUNS
#define RUNS 2        /* requeues */
#endif

#define COMPLETED 1   /* follow-ups, and sets of them */
#define DEAD 2
#define ENDED 4
#define ATTACHED 8    /* fires with ENDED */
#define ADDED 16      /* with the completion */
#define KINDS 5

mtype = { no_item, ready, leased, dead, retained };

/* The item. `number`: of its generation. `expired`: its time has passed and nobody has swept it. `successor`: a version. */
mtype state = no_item;
byte number, version, successor, fired;
bool expired, attached;

chan deferred = [3] of { byte };
bool adding_successor;   /* without SUCCESSOR_IN_STEP: the successor is yet to be added */
byte held;               /* the generations that somebody has leased */

/* What is true, whatever the scripts know: whether the run has ended, the latest change, the last one that was leased. */
bool is_over;
byte latest, leased_version, requeues;
byte owed[KINDS];

byte k, bits, g;
bool lost, twice, stale;

inline owe(what) {
	k = 0;
	do
	:: k < KINDS ->
		if
		:: (what) & (1 << k) -> owed[k]++
		:: else
		fi;
		k++
	:: else -> break
	od
}

/* Adds follow-ups. */
inline add(what) {
	k = 0;
	do
	:: k < KINDS ->
		if
		:: ((what) & (1 << k)) && owed[k] == 0 -> twice = true; assert(!(TWICE && twice))
		:: ((what) & (1 << k)) && owed[k] > 0 -> owed[k]--
		:: else
		fi;
		k++
	:: else -> break
	od
}

/* A step adds what an end fires, or defers it when its budget is used up. */
inline fire(what) {
	if
	:: !FIRE_WITH_END /* a later step would, but its client is dead */
	:: else ->
		if
		:: defers -> deferred!what
		:: else -> add(what)
		fi
	fi
}

/* What fires when the run ends. */
#define at_end (ENDED + (attached -> ATTACHED : 0))

inline run_is_over() {
	if
	:: !is_over -> owe(at_end)
	:: else
	fi;
	is_over = true
}

inline new_item(new) {
	number++;
	version = new; state = ready;
	successor = 0; fired = 0;
	expired = false; attached = false; is_over = false
}

/* The item is no longer leased. Its successor takes its place. */
inline end_lease(then) {
	if
	:: successor == 0 || !SUCCESSOR_AT_END -> state = then; successor = 0
	:: successor != 0 && SUCCESSOR_AT_END && SUCCESSOR_IN_STEP -> new_item(successor)
	:: successor != 0 && SUCCESSOR_AT_END && !SUCCESSOR_IN_STEP -> state = then; adding_successor = true
	fi
}

inline die(fires) {
	owe(DEAD);
	run_is_over();
	if
	:: fires -> fire((DEAD | at_end)); fired = DEAD | ENDED
	:: else
	fi;
	expired = false;
	end_lease(dead)
}

/* Before a step does anything else to an item that is dead because its time has passed. */
inline find_expired() {
	if
	:: expired -> expired = false; state = dead;
		if
		:: DEATH_FIRST -> fire((DEAD | at_end)); fired = DEAD | ENDED
		:: else
		fi
	:: else
	fi
}

inline complete(of_number, adds, retain) {
	printf("complete: generation %d of %d\n", of_number, number);
	if
	:: of_number == number && (state == ready || state == leased || state == dead ||
			!ONE_COMPLETION && state == retained) ->
		find_expired();
		if
		:: state != retained -> owe((COMPLETED | (adds -> ADDED : 0))); run_is_over()
		:: else
		fi;
		fire((COMPLETED | (adds -> ADDED : 0) | (FIRED && (fired & ENDED) -> 0 : at_end)));
		end_lease((retain -> retained : no_item))
	:: else ->
		if
		:: adds && !ADD_IF_ENDED -> fire(ADDED)
		:: else
		fi
	fi
}

inline release() {
	if
	:: successor != 0 && SUCCESSOR_AT_RETRY -> new_item(successor)
	:: else -> state = ready
	fi
}

/* add with replace and successor: a change that is accepted. */
inline add_item() {
	printf("add_item: version %d, state %e\n", latest + 1, state);
	latest++;
	if
	:: state == leased && (successor == 0 || LATEST_SUCCESSOR) -> successor = latest
	:: state == leased && successor != 0 && !LATEST_SUCCESSOR
	:: else ->
		find_expired();
		if
		:: REPLACED_IS_NEW || state == no_item -> new_item(latest)
		:: else -> number--; new_item(latest)
		fi
	fi
}

inline attach() {
	printf("attach: state %e\n", state);
	find_expired();
	if
	:: state == dead || state == retained ->
		owe(ATTACHED);
		if
		:: ATTACH_AT_ONCE -> add(ATTACHED)
		:: else -> attached = true
		fi
	:: (state == ready || state == leased) && !attached -> attached = true
	:: else
	fi
}

inline remove() {
	printf("remove: state %e\n", state);
	find_expired();
	if
	:: state == ready || state == leased ->
		run_is_over();
		if
		:: REMOVE_FIRES -> fire(at_end)
		:: else
		fi
	:: else
	fi;
	/* A change that was accepted for the item goes with it. */
	if
	:: successor == latest -> leased_version = latest
	:: else
	fi;
	if
	:: version == latest -> leased_version = latest
	:: else
	fi;
	successor = 0;
	state = no_item
}

bool defers;
#define may_end (len(deferred) < 2 && number < GENERATIONS - 1)

active proctype queue() {
	do
	:: d_step { latest < VERSIONS && may_end -> add_item() }
	:: d_step { state == ready && !expired ->
		printf("lease: version %d\n", version);
		if
		:: version != latest && !adding_successor -> stale = true; assert(!(STALE && stale))
		:: else
		fi;
		leased_version = version; held = held | (1 << number); state = leased }
	:: atomic { held != 0 && may_end ->
		g = 0;
		do
		:: (held >> g) & 1 -> break
		:: held >> (g + 1) -> g++
		od;
		if
		:: d_step { true -> complete(g, false, false) }
		:: d_step { true -> complete(g, false, true) }
		:: d_step { true -> complete(g, true, false) }
		:: d_step { true -> complete(g, true, true) }
		fi;
		g = 0 }
	:: d_step { state == leased && may_end -> printf("fail\n"); die(true) }
	:: d_step { state == leased && may_end -> printf("reclaim\n"); die(RECLAIM_FIRES) }
	:: d_step { state == leased && may_end -> printf("release\n"); release() }
	:: d_step { state == ready && !expired -> printf("expire\n"); expired = true; owe(DEAD); run_is_over() }
	:: d_step { expired && may_end -> printf("sweep\n"); find_expired(); number++ }
	:: d_step { (state == dead || expired) && requeues < RUNS && may_end ->
		printf("requeue\n");
		requeues++; find_expired(); state = ready; is_over = false;
		if
		:: NEW_RUN -> fired = 0
		:: else
		fi }
	:: d_step { state != no_item && may_end -> remove() }
	:: d_step { may_end && !attached && owed[3] == 0 -> attach() }
	:: d_step { adding_successor -> adding_successor = false; new_item(successor) }
	:: d_step { defers = !defers }
	:: d_step { len(deferred) > 0 -> deferred?bits; add(bits); bits = 0 }
	:: d_step { !DISTRIBUTE_ONCE && len(deferred) > 0 -> deferred?<bits>; add(bits); bits = 0 }
	:: break
	od;
	/* Then only a worker and a cleaner live. */
	defers = false;
	do
	:: d_step { adding_successor -> adding_successor = false; new_item(successor) }
	:: d_step { len(deferred) > 0 -> deferred?bits; add(bits); bits = 0 }
	:: d_step { expired -> find_expired() }
	:: d_step { !adding_successor && state == ready && !expired -> leased_version = version; state = leased }
	:: d_step { state == leased && len(deferred) == 0 -> complete(number, false, false) }
	:: else -> break
	od;
	lost = latest != leased_version && !(state == dead && version == latest) || owed[0] != 0 || owed[1] != 0 || owed[2] != 0 || owed[3] != 0 || owed[4] != 0;
	assert(!(LOST && lost))
}
