// The socket between a child process and its worker: frames of JSON.
import { Socket } from 'node:net'

export const MAX_FRAME = 257 * 2 ** 20
const HEAD = 4

export type Message = { readonly type: string } & Record<string, unknown>

/** Where messages to a worker go. */
export interface Sender {
  /** Sends a message, with one more field that is JSON already. */
  send(message: Message, raw?: { name: string; json: string }): void
}

export class Connection implements Sender {
  readonly #socket: Socket
  /** What has arrived of the next frames. */
  #chunks: Buffer[] = []
  #size = 0

  /** `closed` is called once, when the worker has ended. */
  constructor(descriptor: number, received: (message: Message) => void, closed: () => void) {
    this.#socket = new Socket({ fd: descriptor, readable: true, writable: true })
    this.#socket.on('data', (data: Buffer) => {
      this.#chunks.push(data)
      this.#size += data.length
      for (let frame = this.#next(); frame !== undefined; frame = this.#next()) {
        received(JSON.parse(frame.toString()) as Message)
      }
    })
    // What is written after that has no reader.
    this.#socket.on('error', () => undefined)
    this.#socket.once('close', closed)
  }

  send(message: Message, raw?: { name: string; json: string }): void {
    let text = JSON.stringify(message)
    if (raw !== undefined) text = `${text.slice(0, -1)},"${raw.name}":${raw.json}}`
    const frame = Buffer.allocUnsafe(HEAD + Buffer.byteLength(text))
    frame.writeUInt32BE(frame.length - HEAD)
    frame.write(text, HEAD)
    this.#socket.write(frame)
  }

  /** The next frame, if it is there as a whole. */
  #next(): Buffer | undefined {
    if (this.#size < HEAD) return undefined
    if (this.#chunks[0]!.length < HEAD) this.#join()
    const end = HEAD + this.#chunks[0]!.readUInt32BE()
    if (this.#size < end) return undefined
    const all = this.#join()
    this.#chunks = end < all.length ? [all.subarray(end)] : []
    this.#size -= end
    return all.subarray(HEAD, end)
  }

  #join(): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all
  }
}
