//! Storing how far the holders of leases have come.

use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::readable::readable;
use super::settle::held;
use crate::Result;
use crate::engine::Progress;
use crate::name::QueueName;

pub(super) fn set_progress(
    db: &mut Database,
    name: &QueueName,
    leases: &[Progress],
) -> Result<Vec<bool>> {
    const WRITE: &str = concat!(
        "INSERT INTO extra (queue, number, retain, progress) VALUES (?1, ?2, 0, ?3)
        ON CONFLICT (number) DO UPDATE SET ",
        readable!(),
        ", ended_at = NULL, result = NULL, progress = ?3,
        expires_at = CASE typeof(expires_at) WHEN 'integer' THEN expires_at END,
        marked = CASE typeof(marked) WHEN 'integer' THEN marked ELSE 0 END"
    );
    let Some(queue) = db.queue(name)? else { return Ok(vec![false; leases.len()]) };
    let mut delta = CountDelta::default();
    let mut answers = Vec::with_capacity(leases.len());
    for lease in leases {
        let found = held(db, queue, lease.token, &mut delta)?;
        if let Some(item) = &found {
            db.run(WRITE, |s| s.execute(params![queue, item.number, &lease.value[..]]))?;
            if !item.more {
                db.run("UPDATE item SET more = 1 WHERE number = ?1", |s| s.execute([item.number]))?;
            }
        }
        answers.push(found.is_some());
    }
    db.count(queue, &delta)?;
    Ok(answers)
}
