//! Checks that arguments mean the same in every language: JSON writes NaN as null, and JavaScript rounds large integers.
//!
//! [`Check`] is a serializer that writes nothing.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::limits::{MAX_DEPTH, MAX_INTEGER};

/// What is wrong with a value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsuitable(String);

impl serde::ser::Error for Unsuitable {
    fn custom<T: Display>(message: T) -> Self {
        Unsuitable(message.to_string())
    }
}

type Checked = Result<(), Unsuitable>;

pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Checked {
    value.serialize(Check { depth: 0 })
}

#[derive(Clone, Copy)]
struct Check {
    /// How many arrays and objects are around the value.
    depth: usize,
}

impl Check {
    fn integer(self, value: impl Copy + Display + TryInto<i128>) -> Checked {
        match value.try_into() {
            Ok(number) if number.unsigned_abs() <= u128::from(MAX_INTEGER) => Ok(()),
            _ => Err(Unsuitable::custom(format_args!("integer {value} is beyond 2^53"))),
        }
    }

    fn float(self, value: f64) -> Checked {
        if value.is_finite() {
            return Ok(());
        }
        Err(Unsuitable::custom(format_args!("{value} is not a number in JSON")))
    }

    fn deeper(self) -> Result<Check, Unsuitable> {
        if self.depth == MAX_DEPTH {
            return Err(Unsuitable::custom(format_args!(
                "values are nested more than {MAX_DEPTH} deep"
            )));
        }
        Ok(Check { depth: self.depth + 1 })
    }
}

impl Serializer for Check {
    type Ok = ();
    type Error = Unsuitable;
    type SerializeSeq = Check;
    type SerializeTuple = Check;
    type SerializeTupleStruct = Check;
    type SerializeTupleVariant = Check;
    type SerializeMap = Check;
    type SerializeStruct = Check;
    type SerializeStructVariant = Check;

    fn serialize_bool(self, _: bool) -> Checked {
        Ok(())
    }
    fn serialize_i8(self, value: i8) -> Checked {
        self.integer(value)
    }
    fn serialize_i16(self, value: i16) -> Checked {
        self.integer(value)
    }
    fn serialize_i32(self, value: i32) -> Checked {
        self.integer(value)
    }
    fn serialize_i64(self, value: i64) -> Checked {
        self.integer(value)
    }
    fn serialize_i128(self, value: i128) -> Checked {
        self.integer(value)
    }
    fn serialize_u8(self, value: u8) -> Checked {
        self.integer(value)
    }
    fn serialize_u16(self, value: u16) -> Checked {
        self.integer(value)
    }
    fn serialize_u32(self, value: u32) -> Checked {
        self.integer(value)
    }
    fn serialize_u64(self, value: u64) -> Checked {
        self.integer(value)
    }
    fn serialize_u128(self, value: u128) -> Checked {
        self.integer(value)
    }
    fn serialize_f32(self, value: f32) -> Checked {
        self.float(value.into())
    }
    fn serialize_f64(self, value: f64) -> Checked {
        self.float(value)
    }
    fn serialize_char(self, _: char) -> Checked {
        Ok(())
    }
    fn serialize_str(self, _: &str) -> Checked {
        Ok(())
    }
    fn serialize_bytes(self, _: &[u8]) -> Checked {
        Ok(())
    }
    fn serialize_none(self) -> Checked {
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Checked {
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Checked {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Checked {
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self.deeper()?)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Check, Unsuitable> {
        self.deeper()
    }
    fn serialize_tuple(self, _: usize) -> Result<Check, Unsuitable> {
        self.deeper()
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Check, Unsuitable> {
        self.deeper()
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Check, Unsuitable> {
        self.deeper()?.deeper()
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Check, Unsuitable> {
        self.deeper()
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Check, Unsuitable> {
        self.deeper()
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Check, Unsuitable> {
        self.deeper()?.deeper()
    }
}

/// Each compound value checks its parts, and has nothing to do at its end.
macro_rules! check_parts {
    ($($compound:ident: $part:ident($($key:ty)?)),* $(,)?) => {
        $(impl $compound for Check {
            type Ok = ();
            type Error = Unsuitable;

            fn $part<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Checked {
                value.serialize(*self)
            }
            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}
check_parts! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(&'static str),
    SerializeStructVariant: serialize_field(&'static str),
}

impl SerializeMap for Check {
    type Ok = ();
    type Error = Unsuitable;

    /// Keys are written as text.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Checked {
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
        value.serialize(*self)
    }
    fn end(self) -> Checked {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn refuses<T: Serialize>(value: T, why: &str) {
        let error = check(&value).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn integers_beyond_2_to_53_and_values_that_are_no_numbers_are_refused() {
        check(&(1_u64 << 53, -(1_i64 << 53), f64::MAX, [Some(1.5_f32)], ())).unwrap();
        refuses((1_u64 << 53) + 1, "9007199254740993 is beyond 2^53");
        refuses(-(1_i64 << 53) - 1, "beyond 2^53");
        refuses(u128::MAX, "beyond 2^53");
        refuses(i128::MIN, "beyond 2^53");
        refuses([f64::NAN], "NaN is not a number");
        refuses(BTreeMap::from([("a", Some(f32::INFINITY))]), "inf is not a number");
    }

    #[test]
    fn deep_nesting_is_refused() {
        let nested = |depth: usize| {
            (0..depth).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]))
        };
        check(&nested(MAX_DEPTH)).unwrap();
        refuses(nested(MAX_DEPTH + 1), "nested more than 64 deep");
    }
}
