// The operations on groups.
import { CALL, call } from './calls'
import { bytes, flag, number, optionalNumber } from './check'
import {
  type Group,
  groupFields,
  groupId,
  type GroupInfo,
  type GroupOutcome,
  PLACE_STATES,
  type PlaceState,
} from './group'
import { followUpFields } from './input'
import { OperatorQueue } from './operator'
import type {
  CallOptions,
  CreateGroupOptions,
  GroupPlacesOptions,
  Id,
  OutcomeOptions,
} from './types'

const CREATE = new Set(['followUps', 'signal'])
const PLACES = new Set(['first', 'signal'])
const OUTCOME = new Set(['waitMs', 'expect', 'signal'])

/** A group as the native half answers. */
type Found = Omit<GroupInfo, 'group'> & { generation: string }

/** The part of `Queue` that adds items when many others have ended. */
export abstract class GroupQueue extends OperatorQueue {
  /**
   * Creates a group in this queue, or resolves to the one that has its id, as it was created.
   *
   * Add its members, to any queues, with `group` and `place`, then call `sealGroup`. If the caller dies in
   * between, it can do all of that again. A group that is not sealed goes after a day without change; one
   * that has ended, a day after its end.
   */
  createGroup(id: Id, options?: CreateGroupOptions): Promise<Group> {
    let own: string | Uint8Array = ''
    const read = (generation: string): Group => ({ queue: this.name, id: own, generation })
    return call(this.native, { options, names: CREATE, read }, (native) => {
      const given = bytes('id', id)
      own = groupId(given)
      const followUps = followUpFields(options?.followUps ?? [], 1)
      return (slot) => native.createGroup(slot, given, followUps)
    })
  }

  /**
   * Fixes how many places a group has, 1 to 100,000, counted from 0. Call it when all members have been
   * added: the group ends when all these places are filled, which may be now. True: it has that many
   * places, also if it had been sealed so before. False: it has another number of places, or is gone.
   * `INVALID` also for a group of another queue.
   */
  sealGroup(group: Group, places: number, options?: CallOptions): Promise<boolean> {
    return call(this.native, { options, names: CALL }, (native) => {
      const fields = groupFields(group)
      const count = number('places', places)
      return (slot) => native.sealGroup(slot, ...fields, count)
    })
  }

  /**
   * Cancels the members of a group, in any queue, also those that are added later: each as `cancel` does
   * it. Members that have ended stay as they are, and a dead one that is requeued later is not cancelled.
   * The group goes on: it ends when all its places are filled, and then adds its follow-ups. Members are
   * cancelled soon, usually before the call resolves if they are not many. True: there is such a group, and
   * it had not ended. False: it has ended, or is gone. `INVALID` also for a group of another queue.
   */
  cancelGroup(group: Group, options?: CallOptions): Promise<boolean> {
    return call(this.native, { options, names: CALL }, (native) => {
      const fields = groupFields(group)
      return (slot) => native.cancelGroup(slot, ...fields)
    })
  }

  /**
   * Removes a group. Its members stay, and their ends fill nothing any more; if the group has not ended,
   * its follow-ups are never added. False: it is gone. `INVALID` also for a group of another queue.
   */
  removeGroup(group: Group, options?: CallOptions): Promise<boolean> {
    return call(this.native, { options, names: CALL }, (native) => {
      const fields = groupFields(group)
      return (slot) => native.removeGroup(slot, ...fields)
    })
  }

  /**
   * The group of this queue with this id. `null`: there is none. An end of a member counts as soon as it
   * was reported, which is usually when the call that has ended it resolves.
   */
  group(id: Id, options?: CallOptions): Promise<GroupInfo | null> {
    let own: string | Uint8Array = ''
    const read = (found: Found | null): GroupInfo | null => found && this.#info(own, found)
    return call(this.native, { options, names: CALL, read }, (native) => {
      const given = bytes('id', id)
      own = groupId(given)
      return (slot) => native.group(slot, given)
    })
  }

  /**
   * Waits until a group has ended, and resolves to how. `null`: it has not ended within `waitMs`; without
   * `waitMs` the wait has no limit. If there is no group with this id, the outcome is `gone`, unless
   * `expect` is set: then it also waits for one that is not created yet.
   *
   * It is about the id, and shares connections and requests with all other waits of the client.
   */
  groupOutcome(id: Id, options?: OutcomeOptions): Promise<GroupOutcome | null> {
    let own: string | Uint8Array = ''
    type Ended = { kind: GroupOutcome['kind']; info: Found | null }
    const read = (ended: Ended | null): GroupOutcome | null =>
      ended &&
      ({ kind: ended.kind, info: ended.info && this.#info(own, ended.info) } as GroupOutcome)
    return call(this.native, { options, names: OUTCOME, read }, (native) => {
      const given = bytes('id', id)
      own = groupId(given)
      const waitMs = optionalNumber('waitMs', options?.waitMs)
      const expect = flag('expect', options?.expect)
      return (slot) => native.groupOutcome(slot, given, waitMs, expect)
    })
  }

  #info(id: string | Uint8Array, { generation, ...info }: Found): GroupInfo {
    return { group: { queue: this.name, id, generation }, ...info }
  }

  /**
   * The states of up to 1,000 places of a group, from `first` on. Fewer if it has no more; none if it is
   * gone. `INVALID` also for a group of another queue.
   */
  groupPlaces(group: Group, options?: GroupPlacesOptions): Promise<PlaceState[]> {
    const read = (numbers: Float64Array): PlaceState[] =>
      Array.from(numbers, (number) => PLACE_STATES[number]!)
    return call(this.native, { options, names: PLACES, read }, (native) => {
      const fields = groupFields(group)
      const first = optionalNumber('first', options?.first) ?? 0
      return (slot) => native.groupPlaces(slot, ...fields, first)
    })
  }
}
