//! Reading the replies of scripts and commands.

use std::str::FromStr;

use bytes::Bytes;
use redis::Value;

use crate::name::QueueName;
use crate::{Error, Result};

pub(super) fn unexpected(what: impl std::fmt::Debug) -> Error {
    Error::internal(format_args!(
        "the server gave an answer that this version does not know: {what:?}"
    ))
}

pub(super) fn bad_record(queue: &QueueName, number: &[u8]) -> Error {
    let number = number.escape_ascii();
    Error::internal(format_args!("queue {queue}, item number {number}: cannot be read; run check"))
}

pub(super) fn bytes(value: Value) -> Result<Bytes> {
    match value {
        Value::BulkString(bytes) => Ok(bytes.into()),
        Value::SimpleString(text) => Ok(text.into()),
        Value::Int(number) => Ok(number.to_string().into()),
        Value::Nil => Ok(Bytes::new()),
        other => Err(unexpected(other)),
    }
}

pub(super) fn text(value: Value) -> Result<String> {
    String::from_utf8(bytes(value)?.into()).map_err(unexpected)
}

pub(super) fn optional_text(value: Value) -> Result<Option<String>> {
    if value == Value::Nil { Ok(None) } else { text(value).map(Some) }
}

pub(super) fn number<T: FromStr>(value: Value) -> Result<T> {
    let text = text(value)?;
    text.parse().map_err(|_| unexpected(text))
}

pub(super) fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(values) => Ok(values),
        other => Err(unexpected(other)),
    }
}

pub(super) fn array<const N: usize>(value: Value) -> Result<[Value; N]> {
    <[Value; N]>::try_from(list(value)?).map_err(unexpected)
}

/// Whether the script has left follow-ups to add, which stands behind its answers; takes that away.
pub(super) fn take_deferred(answers: &mut String) -> bool {
    let deferred = answers.ends_with('o');
    if deferred {
        answers.pop();
    }
    deferred
}

/// Numbers with spaces between them.
pub(super) fn numbers<T: FromStr, const N: usize>(text: &str) -> Result<[T; N]> {
    let numbers: Option<Vec<T>> = text.split(' ').map(|number| number.parse().ok()).collect();
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| unexpected(text))
}

/// One digit for each entry of a batch: 0 is false.
pub(super) fn bools(digits: &str, count: usize) -> Result<Vec<bool>> {
    same_length(digits.bytes().map(|digit| digit != b'0'), count)
}

pub(super) fn same_length<T>(answers: impl Iterator<Item = T>, count: usize) -> Result<Vec<T>> {
    let answers: Vec<T> = answers.collect();
    if answers.len() == count {
        Ok(answers)
    } else {
        Err(unexpected(format_args!("{} answers to {count} questions", answers.len())))
    }
}
