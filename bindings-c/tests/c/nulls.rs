//! Passes NULL for every parameter of every function. The program is generated from the header, so
//! that none can be forgotten.

use std::fmt::Write;
use std::process::Command;

use crate::header::{Function, functions};
use crate::installed::{HERE, STRICT, prefix, succeed};

/// A valid argument, as far as the first check can tell.
fn sane(parameter: &str) -> String {
    let name = parameter.rsplit([' ', '*']).next().unwrap();
    let kind = parameter[..parameter.len() - name.len()].trim();
    match (kind, name) {
        (_, "error") => "&error".into(),
        ("const char *", "url") => "\"memory:\"".into(),
        ("const char *", "operation") => "\"workers\"".into(),
        ("const char *", "measured") => "\"{}\"".into(),
        ("const char *", "after") => "\"now\"".into(),
        ("const char *", "kind") => "\"minutes\"".into(),
        ("const char *", "arguments") | ("const void *", "args") => "\"{}\"".into(),
        ("size_t", "args_len") => "2".into(),
        ("leaseq_handler", _) => "handle".into(),
        ("const char *const *", _) => "some_texts".into(),
        ("void *", "context") => "NULL".into(),
        ("const char *" | "const void *", _) => "\"x\"".into(),
        ("char *", _) => "text".into(),
        ("size_t", "size") => "SIZE".into(),
        ("size_t" | "int32_t" | "uint32_t" | "int64_t" | "uint64_t", _) => "1".into(),
        // A delay of an item that is to be dead would be refused, whatever is NULL.
        ("bool", "dead") => "false".into(),
        ("bool", _) => "true".into(),
        ("leaseq_lease *const *", _) => "&some_lease".into(),
        ("const leaseq_item *", _) => "&item".into(),
        ("const leaseq_bytes *", _) => "&bytes".into(),
        ("const leaseq_items *", _) => "&items".into(),
        ("const leaseq_item_ref *", _) => "&item_ref".into(),
        ("const leaseq_revision *", _) => "&revision".into(),
        ("const leaseq_attachment *", _) => "&attachment".into(),
        ("const leaseq_follow_up *", _) => "&follow_up".into(),
        ("leaseq_place_state *", _) => "&place_state".into(),
        ("const leaseq_key_limit *", _) => "&key_limit".into(),
        ("leaseq_key_info *", _) => "&key_info".into(),
        ("const leaseq_schedule *", _) => "&schedule".into(),
        ("leaseq_scheduled *", _) => "&scheduled".into(),
        (kind, _) => {
            // A handle, or a place for one: `const leaseq_x *`, `leaseq_x *`, `leaseq_x **`, `bool *`.
            let base = kind.trim_start_matches("const ").trim_end_matches([' ', '*']);
            let known =
                ["queue", "client", "lease", "waiter", "group", "item_options", "lease_options"];
            let known =
                known.iter().chain(&["complete_options", "connect_options", "list_options"]);
            let known = known.chain(&["settings_options", "schedule_options"]);
            let known = known.chain(&["worker", "worker_options", "task", "job_options"]);
            match (kind.ends_with("**"), base.strip_prefix("leaseq_")) {
                (true, Some(handle)) => format!("&new_{handle}"),
                (false, Some(handle)) if known.clone().any(|known| *known == handle) => {
                    format!("some_{handle}")
                }
                (false, Some(handle)) => format!("any_{handle}"),
                _ => format!("&a_{base}"),
            }
        }
    }
}

fn is_pointer(parameter: &str) -> bool {
    parameter.contains('*')
}

/// Parameters documented as possibly NULL: the call must succeed.
fn may_be_null(function: &Function, parameter: &str) -> bool {
    let name = parameter.rsplit([' ', '*']).next().unwrap();
    match name {
        "complete_options" | "lease_options" | "job_options" => true,
        "options" if function.name == "leaseq_worker_start" => false,
        "options" if function.name == "leaseq_child_run" => false,
        "error" | "options" | "adds" => !function.name.contains("_options_"),
        "added" | "completed" | "deadline_ms" | "statuses" | "deadlines_ms" | "state"
        | "states" | "texts" | "removed" | "cancelled" | "requeued" | "buried" | "revised"
        | "attached" | "sealed" | "dropped" | "configured" | "done" | "synced" | "paused"
        | "resumed" | "settled" | "ended" | "context" => true,
        "len" => function.name == "leaseq_task_meta",
        "url" | "by" => true,
        "reason" => function.name.contains("_pause"),
        "cursor" | "after" => true,
        _ => false,
    }
}

fn program() -> String {
    let functions = functions();
    let mut text = String::from(
        "#include \"check.h\"\n\nenum { SIZE = sizeof(leaseq_light_report) };\n\
            static int32_t handle(leaseq_task *task, void *context) { (void)task; (void)context; return 0; }\n",
    );
    let mut handles = std::collections::BTreeSet::new();
    for function in &functions {
        for parameter in function.parameters.iter().filter(|p| p.contains("leaseq_")) {
            let words = parameter.trim_start_matches("const ");
            let base = words.split([' ', '*']).next().unwrap();
            handles.insert(base.strip_prefix("leaseq_").unwrap().to_owned());
        }
    }
    for plain in [
        "status",
        "state",
        "item",
        "item_ref",
        "revision",
        "attachment",
        "follow_up",
        "place_state",
        "group_end",
        "group_info",
        "key_limit",
        "key_info",
        "schedule",
        "scheduled",
        "bytes",
        "items",
        "counts",
        "light_report",
        "settings",
        "error",
        "settled",
        "handler",
    ] {
        handles.remove(plain);
    }
    text.push_str(
        "int main(void) {\n    char text[64]; const char *some_texts[] = {\"x\", \"x\"};\n",
    );
    for handle in &handles {
        writeln!(text, "    leaseq_{handle} *some_{handle} = NULL, *new_{handle} = NULL;").unwrap();
        writeln!(text, "    (void)some_{handle}; (void)new_{handle};").unwrap();
    }
    text.push_str(
        "    leaseq_counts storage; leaseq_counts *any_counts = &storage;
    leaseq_settings settings_storage; leaseq_settings *any_settings = &settings_storage;
    leaseq_light_report report_storage; leaseq_light_report *any_light_report = &report_storage;
    leaseq_names *any_names = NULL; leaseq_page *any_page = NULL; leaseq_report *any_report = NULL;
    leaseq_item_info *any_item_info = NULL; leaseq_error *any_error = NULL;
    leaseq_status a_leaseq_status = LEASEQ_OK; leaseq_status *any_status = &a_leaseq_status;
    leaseq_state a_leaseq_state; leaseq_state *any_state = &a_leaseq_state;
    leaseq_group_end a_group_end; leaseq_group_end *any_group_end = &a_group_end; (void)any_group_end;
    bool a_bool; uint64_t a_uint64_t; int64_t a_int64_t; int32_t a_int32_t; size_t a_size_t;
    leaseq_item item = {.data = \"x\", .data_len = 1};
    leaseq_bytes bytes = {.data = \"x\", .len = 1};
    leaseq_items items = {.items = &item, .count = 1};
    leaseq_item_ref item_ref = {.id = \"x\", .id_len = 1};
    leaseq_revision revision = {.id = \"x\", .id_len = 1, .data = \"y\", .data_len = 1};
    leaseq_attachment attachment = {.to = item_ref, .item = &item, .on = LEASEQ_ON_ENDED};
    leaseq_follow_up follow_up = {.item = &item, .on = LEASEQ_ON_ENDED};
    leaseq_place_state place_state; (void)follow_up; (void)place_state;
    union { leaseq_group_info info; char room[SIZE]; } group_storage;
    leaseq_group_info *any_group_info = &group_storage.info; (void)any_group_info;
    leaseq_key_limit key_limit = {.key = \"x\", .key_len = 1, .limit = 1};
    leaseq_key_info key_info; leaseq_scheduled scheduled;
    OK(leaseq_schedule_options_new(&some_schedule_options, &error));
    OK(leaseq_schedule_options_set_every_ms(some_schedule_options, 1000, &error));
    leaseq_schedule schedule = {.name = \"x\", .data = \"y\", .data_len = 1, .options = some_schedule_options};
    some_client = connected();
    some_queue = queue_of(some_client, \"nulls\");
    OK(leaseq_queue_create_group(some_queue, \"x\", 1, &follow_up, 1, &some_group, &error));
    OK(leaseq_item_options_new(&some_item_options, &error));
    OK(leaseq_lease_options_new(&some_lease_options, &error));
    OK(leaseq_complete_options_new(&some_complete_options, &error));
    OK(leaseq_connect_options_new(&some_connect_options, &error));
    OK(leaseq_list_options_new(&some_list_options, &error));
    OK(leaseq_settings_options_new(&some_settings_options, &error));
    OK(leaseq_waiter_new(some_queue, &some_waiter, &error));
    add(some_queue, \"leased\", \"x\");
    OK(leaseq_job_options_new(&some_job_options, &error));
    OK(leaseq_worker_options_new(&some_worker_options, &error));
    OK(leaseq_worker_options_add_queue(some_worker_options, \"tasks\", 1, &error));
    OK(leaseq_worker_options_add_job(some_worker_options, \"x\", &error));
    OK(leaseq_worker_start(some_client, some_worker_options, &some_worker, &error));
    leaseq_queue *tasks = queue_of(some_client, \"tasks\");
    OK(leaseq_queue_enqueue(tasks, \"x\", \"{}\", 2, NULL, NULL, &error));
    OK(leaseq_worker_next(some_worker, 20000, &some_task, &error));
    leaseq_queue_free(&tasks);
    leaseq_cancel_reason a_leaseq_cancel_reason; (void)a_leaseq_cancel_reason;
    leaseq_settled a_leaseq_settled; leaseq_settled *any_settled = &a_leaseq_settled; (void)any_settled;
    some_lease = leased(some_queue, 1000000);
    (void)any_item_info; (void)any_names; (void)any_page; (void)any_report; (void)any_error;
    (void)any_state; (void)any_status; (void)any_counts; (void)any_light_report; (void)any_settings;
    (void)a_uint64_t; (void)a_int64_t; (void)a_int32_t; (void)a_size_t; (void)a_bool; (void)a_leaseq_state;
    (void)key_limit; (void)key_info; (void)schedule; (void)scheduled;
    (void)bytes; (void)items; (void)item_ref; (void)revision; (void)attachment; (void)text;
",
    );
    // NULL, 0 and false everywhere first, then one NULL at a time.
    for function in &functions {
        let fallible =
            function.parameters.last().is_some_and(|last| last == "leaseq_error **error");
        let zeros = function.parameters.iter().map(|p| if is_pointer(p) { "NULL" } else { "0" });
        writeln!(text, "    {}({});", function.name, zeros.collect::<Vec<_>>().join(", ")).unwrap();
        writeln!(text, "    checks++;").unwrap();
        if !fallible || function.name.ends_with("_free") || function.name.ends_with("_close") {
            continue;
        }
        for (at, parameter) in function.parameters.iter().enumerate() {
            // It waits for the end of the worker.
            let waits = function.name == "leaseq_worker_run" && at > 0;
            if !is_pointer(parameter) || waits {
                continue;
            }
            let mut all: Vec<String> = function.parameters.iter().map(|p| sane(p)).collect();
            all[at] = "NULL".into();
            let call = format!("{}({})", function.name, all.join(", "));
            if parameter.ends_with("**error") {
                writeln!(text, "    {call}; checks++;").unwrap();
            } else if may_be_null(function, parameter) {
                // The call may fail, but not because of NULL.
                writeln!(
                    text,
                    "    {call}; CHECK(strstr(leaseq_error_message(error), \" is NULL\") == NULL); \
                     leaseq_error_free(&error);"
                )
                .unwrap();
            } else {
                writeln!(text, "    FAILS(LEASEQ_INVALID, {call});").unwrap();
            }
            for handle in &handles {
                if all.iter().any(|argument| *argument == format!("&new_{handle}")) {
                    let free = match handle.as_str() {
                        "lease" | "client" | "queue" | "waiter" | "item_info" | "outcome"
                        | "page" | "names" | "report" => format!("leaseq_{handle}_free"),
                        options => format!("leaseq_{options}_free"),
                    };
                    writeln!(text, "    {free}(&new_{handle});").unwrap();
                }
            }
        }
    }
    text.push_str("    end(some_queue, some_client);\n    return done();\n}\n");
    text
}

#[test]
fn null_is_noticed_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("nulls.c");
    std::fs::write(&source, program()).unwrap();
    let path = folder.path().join("nulls");
    let mut compiler = Command::new("cc");
    compiler.args(STRICT).args(["-fsanitize=address,undefined", "-pthread", "-I"]);
    compiler.arg(prefix().join("include")).arg(format!("-I{HERE}/tests/programs")).arg(&source);
    compiler.arg("-o").arg(&path).arg("-L").arg(prefix().join("lib")).arg("-lleaseq");
    succeed(compiler.arg(format!("-Wl,-rpath,{}", prefix().join("lib").display())));
    let mut command = Command::new(path);
    command.env("LEASEQ_URL", "memory:").env("ASAN_OPTIONS", "detect_leaks=0");
    let printed = succeed(&mut command);
    let checks: u32 = printed.trim().strip_suffix(" checks").unwrap().parse().unwrap();
    assert!(checks > 200, "{printed}");
}
