// Checks arguments with any library that implements Standard Schema (https://standardschema.dev).
import { quote } from '../check'
import { invalid, type LeaseqError } from '../errors'

/** A schema of zod, valibot, arktype or another library: version 1 of Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type Validated<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema of any types. */
export type AnySchema = StandardSchema<any, any>
export type InputOf<S extends AnySchema> = NonNullable<S['~standard']['types']>['input']
export type OutputOf<S extends AnySchema> = NonNullable<S['~standard']['types']>['output']

/** How many issues a message has. */
const SHOWN = 5

function issueText({ message, path }: Issue): string {
  const keys = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? message : `${quote(keys.join('.'))}: ${message}`
}

/** A value does not fit its schema. */
export class Mismatch extends Error {}

/** The value as the schema returns it. Throws `Mismatch`. */
export async function validate(schema: AnySchema | undefined, value: unknown): Promise<unknown> {
  if (schema === undefined) return value
  let validated = schema['~standard'].validate(value)
  if (validated instanceof Promise) validated = await validated
  if (validated.issues === undefined) return validated.value
  throw new Mismatch(validated.issues.slice(0, SHOWN).map(issueText).join('; '))
}

export function mismatch(what: string, error: unknown): LeaseqError {
  return invalid(`${what}: ${(error as Error).message}`)
}
