//! Reads and writes through the caller's pointers. All code that trusts the caller is here.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::failure::{Failure, Result};

/// Bytes that belong to the caller.
#[repr(C)]
pub struct leaseq_bytes {
    /// The first byte; may be NULL if there are none.
    pub data: *const c_void,
    /// Number of bytes.
    pub len: usize,
}

/// A handle that must not be NULL.
pub(crate) fn given<T>(handle: Option<T>, name: &str) -> Result<T> {
    handle.ok_or_else(|| null(name))
}

pub(crate) fn null(name: &str) -> Failure {
    Failure::invalid(format_args!("{name} is NULL"))
}

/// `count` values at `first`, which may be NULL if there are none.
///
/// # Safety
/// If it is not NULL, `count` values that can be read stand there during the call.
pub(crate) unsafe fn array<'a, T>(first: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(null(name));
    }
    check_count(count, name)?;
    // SAFETY: not NULL, and not more than memory can hold; the rest is the caller's word.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// Refuses an impossible count before any of the caller's arrays is touched.
fn check_count(count: usize, name: &str) -> Result {
    /// Size of the largest element.
    const SIZE: usize = 64;
    if count > isize::MAX as usize / SIZE {
        return Err(Failure::invalid(format_args!("{name}: {count} are more than memory holds")));
    }
    Ok(())
}

/// `len` bytes, `most` at most.
///
/// # Safety
/// As for [`array`].
pub(crate) unsafe fn bytes<'a>(
    data: *const c_void,
    len: usize,
    most: usize,
    name: &str,
) -> Result<&'a [u8]> {
    if len > most {
        // Checked before reading: such a length is more likely a mistake than data.
        let wrong = format_args!("{name} of {len} bytes is over the limit of {most}");
        return Err(Failure::invalid(wrong));
    }
    // SAFETY: as for `array`.
    unsafe { array(data.cast(), len, name) }
}

/// Bytes of any length.
///
/// # Safety
/// As for [`array`].
pub(crate) unsafe fn id<'a>(data: *const c_void, len: usize) -> Result<&'a [u8]> {
    // SAFETY: as for `array`.
    unsafe { bytes(data, len, leaseq::options::MAX_ID, "an id") }
}

/// The reason of a release; empty for none.
///
/// # Safety
/// As for [`array`].
pub(crate) unsafe fn reason<'a>(data: *const c_void, len: usize) -> Result<&'a str> {
    // SAFETY: as for `array`.
    let reason = unsafe { bytes(data, len, leaseq::options::MAX_REASON, "a reason") }?;
    std::str::from_utf8(reason).map_err(|_| Failure::invalid("a reason is not UTF-8"))
}

/// Text that ends with a NUL.
///
/// # Safety
/// NULL, or text that ends with a NUL and stays during the call.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL; the rest is the caller's word.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::invalid(format_args!("{name} is not UTF-8")))
}

/// Text for people that ends with a NUL. What is not UTF-8 in it, such as a file name, is replaced.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn message<'a>(text: *const c_char) -> Result<Cow<'a, str>> {
    if text.is_null() {
        return Err(null("message"));
    }
    // SAFETY: not NULL; the rest is the caller's word.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(text.to_string_lossy())
}

/// A duration from the caller, in ms.
pub(crate) fn duration(ms: i64, name: &str) -> Result<Duration> {
    let ms = u64::try_from(ms)
        .map_err(|_| Failure::invalid(format_args!("{name} of {ms} ms is negative")))?;
    Ok(Duration::from_millis(ms))
}

/// A duration for the caller, in ms.
pub(crate) fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A time for the caller, as ms since 1970.
pub(crate) fn since_epoch(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, ms)
}

/// Hands a value to the caller, who frees it.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Where the caller wants results: an array, or nothing if it is NULL.
pub(crate) struct Out<T>(*mut T, usize);

impl<T> Out<T> {
    /// A place for one result, which is `nothing` until it is set.
    ///
    /// # Safety
    /// NULL, or it may be written until the call returns.
    pub(crate) unsafe fn one(place: *mut T, nothing: T, name: &str) -> Result<Self> {
        if place.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL; the rest is the caller's word.
        unsafe { place.write(nothing) };
        Ok(Out(place, 1))
    }

    /// As `one`, but NULL means that the result is not wanted.
    ///
    /// # Safety
    /// As for [`one`](Self::one).
    pub(crate) unsafe fn wanted(place: *mut T, nothing: T) -> Self {
        // SAFETY: as for `one`.
        unsafe { Out::one(place, nothing, "") }.unwrap_or(Out(place, 0))
    }

    /// Places for `count` results; NULL means that they are not wanted.
    ///
    /// # Safety
    /// NULL, or `count` results may be written there until the call returns.
    pub(crate) unsafe fn many(first: *mut T, count: usize, nothing: T, name: &str) -> Result<Self>
    where
        T: Copy,
    {
        if first.is_null() {
            return Ok(Out(first, 0));
        }
        check_count(count, name)?;
        for at in 0..count {
            // SAFETY: not NULL; the rest is the caller's word.
            unsafe { first.add(at).write(nothing) };
        }
        Ok(Out(first, count))
    }

    pub(crate) fn set(self, value: T) {
        self.set_all([value]);
    }

    pub(crate) fn set_all(self, values: impl IntoIterator<Item = T>) {
        for (at, value) in values.into_iter().take(self.1).enumerate() {
            // SAFETY: `at` is below the count that the caller has room for.
            unsafe { self.0.add(at).write(value) };
        }
    }
}

/// Where the caller wants a struct to which later versions may append fields.
pub(crate) struct Grown<T: Copy>(*mut T, usize);

impl<T: Copy> Grown<T> {
    /// Zero until it is set.
    ///
    /// # Safety
    /// NULL, or `size` bytes may be written there until the call returns.
    pub(crate) unsafe fn new(place: *mut T, size: usize, name: &str) -> Result<Self> {
        /// No version will be larger.
        const MOST: usize = 4096;
        if place.is_null() {
            return Err(null(name));
        }
        if size == 0 || size > MOST {
            let wrong = format_args!("{name}: a size of {size} bytes is not its sizeof");
            return Err(Failure::invalid(wrong));
        }
        // SAFETY: not NULL; the rest is the caller's word.
        unsafe { place.cast::<u8>().write_bytes(0, size) };
        Ok(Grown(place, size))
    }

    /// Writes the fields that the caller knows.
    pub(crate) fn set(self, value: T) {
        let size = self.1.min(size_of::<T>());
        // SAFETY: both have that many bytes, and they do not overlap.
        unsafe { (&raw const value).cast::<u8>().copy_to_nonoverlapping(self.0.cast(), size) };
    }
}
