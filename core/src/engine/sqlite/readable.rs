//! Changing rows of `extra` that another program may have written.

/// Assignments with which a row of `extra` can be changed: SQLite rejects a change of a row that keeps a value of a wrong type,
/// which another program may have written.
macro_rules! readable {
    () => {
        "queue = CASE typeof(queue) WHEN 'integer' THEN queue ELSE
            coalesce((SELECT item.queue FROM item WHERE item.number = extra.number), 0) END,
        retain = CASE typeof(retain) WHEN 'integer' THEN retain ELSE 0 END,
        unique_key = CASE typeof(unique_key) WHEN 'blob' THEN unique_key END,
        progress = CASE typeof(progress) WHEN 'blob' THEN progress END,
        follow_ups = CASE typeof(follow_ups) WHEN 'integer' THEN follow_ups END,
        trigger_id = CASE typeof(trigger_id) WHEN 'blob' THEN trigger_id END,
        trigger_result = CASE typeof(trigger_result) WHEN 'blob' THEN trigger_result END"
    };
}
pub(super) use readable;
