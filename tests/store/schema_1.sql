-- What schema 1 wrote: two runs, and five more that were deleted.
PRAGMA application_id = 1952673382;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'conformance','m001_first_schema','2026-11-30 17:44:53.944810+00:00');
CREATE TABLE fallback_set (
    -- Every set of overloads that ran on the CPU during some test; the empty set is one of them.
    id INTEGER PRIMARY KEY,
    overloads TEXT NOT NULL UNIQUE              -- sorted, joined by commas; '' is the empty set
) STRICT;
INSERT INTO "fallback_set" VALUES(1,'aten::sin.out');
CREATE TABLE fallback_set_overload (
    -- The members of every fallback set.
    fallback_set_id INTEGER NOT NULL REFERENCES fallback_set(id),
    overload_id INTEGER NOT NULL REFERENCES overload(id),
    PRIMARY KEY (fallback_set_id, overload_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "fallback_set_overload" VALUES(1,1);
CREATE TABLE inventory (
    -- What torch declares for one device: the denominators. Runs with the same content share one.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- BLAKE2b of the torch version, the device and the content
    torch_version TEXT NOT NULL,
    device TEXT NOT NULL
) STRICT;
CREATE TABLE inventory_module (
    -- The modules of an inventory.
    inventory_id INTEGER NOT NULL REFERENCES inventory(id),
    module_id INTEGER NOT NULL REFERENCES name(id),
    PRIMARY KEY (inventory_id, module_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE inventory_module_dtype (
    -- The dtypes a module declares.
    inventory_id INTEGER NOT NULL,
    module_id INTEGER NOT NULL,
    dtype_id INTEGER NOT NULL REFERENCES name(id),
    position INTEGER NOT NULL,                  -- the order in which they were declared
    PRIMARY KEY (inventory_id, module_id, dtype_id),
    FOREIGN KEY (inventory_id, module_id) REFERENCES inventory_module(inventory_id, module_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE inventory_operator (
    -- The operators (OpInfos) of an inventory.
    inventory_id INTEGER NOT NULL REFERENCES inventory(id),
    op_id INTEGER NOT NULL REFERENCES name(id),
    aten_name TEXT NOT NULL,
    group_id INTEGER NOT NULL REFERENCES name(id),
    supports_autograd INTEGER NOT NULL CHECK (supports_autograd IN (0, 1)),
    supports_out INTEGER NOT NULL CHECK (supports_out IN (0, 1)),
    PRIMARY KEY (inventory_id, op_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE inventory_operator_dtype (
    -- The dtypes an operator declares for the device.
    inventory_id INTEGER NOT NULL,
    op_id INTEGER NOT NULL,
    dtype_id INTEGER NOT NULL REFERENCES name(id),
    position INTEGER NOT NULL,                  -- the order in which they were declared
    PRIMARY KEY (inventory_id, op_id, dtype_id),
    FOREIGN KEY (inventory_id, op_id) REFERENCES inventory_operator(inventory_id, op_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE name (
    -- Every file, class, template, operator, module, group, dtype and worker name, once.
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "name" VALUES(1,'test_ops.py');
INSERT INTO "name" VALUES(2,'TestCommon');
INSERT INTO "name" VALUES(3,'test_x');
INSERT INTO "name" VALUES(4,'add');
INSERT INTO "name" VALUES(5,'float32');
INSERT INTO "name" VALUES(6,'nn.Linear');
INSERT INTO "name" VALUES(7,'w0');
CREATE TABLE overload (
    -- Every ATen overload that was seen on the CPU, such as aten::sin.out.
    id INTEGER PRIMARY KEY,
    overload TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "overload" VALUES(1,'aten::sin.out');
CREATE TABLE plan (
    -- The tests a run undertook to report on.
    run_id INTEGER NOT NULL REFERENCES run(run_id),
    test_ref INTEGER NOT NULL REFERENCES test(id),
    position INTEGER NOT NULL,                  -- the order in which they were collected, from 0
    spelling_id INTEGER NOT NULL REFERENCES spelling(id),
    PRIMARY KEY (run_id, test_ref)
) STRICT, WITHOUT ROWID;
INSERT INTO "plan" VALUES(1,1,0,1);
INSERT INTO "plan" VALUES(1,2,1,1);
INSERT INTO "plan" VALUES(2,1,0,1);
CREATE TABLE result (
    -- One attempt at one planned test.
    run_id INTEGER NOT NULL,
    test_ref INTEGER NOT NULL,
    attempt INTEGER NOT NULL CHECK (attempt >= 1),
    outcome TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'error', 'skipped', 'xfailed', 'xpassed', 'crashed', 'timed_out', 'out_of_memory', 'not_run')),
    duration_us INTEGER NOT NULL,               -- setup, call and teardown, in microseconds
    worker_id INTEGER REFERENCES name(id),
    fallback_set_id INTEGER REFERENCES fallback_set(id),        -- inside the window; NULL = not observed
    test_fallback_set_id INTEGER REFERENCES fallback_set(id),   -- anywhere in the test; NULL = not observed
    samples INTEGER,
    samples_passed INTEGER,
    failing_sample_id INTEGER REFERENCES text(id),
    reason_id INTEGER REFERENCES text(id),
    message_id INTEGER REFERENCES text(id),
    details_id INTEGER REFERENCES text(id),
    signature_id INTEGER REFERENCES signature(id),
    PRIMARY KEY (run_id, test_ref, attempt),
    FOREIGN KEY (run_id, test_ref) REFERENCES plan(run_id, test_ref)
) STRICT, WITHOUT ROWID;
INSERT INTO "result" VALUES(1,1,1,'failed',1500000,7,1,1,2,1,1,NULL,2,3,1);
INSERT INTO "result" VALUES(1,2,1,'not_run',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "result" VALUES(2,1,1,'passed',500000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE run (
    -- One execution of a plan on one device.
    run_id INTEGER PRIMARY KEY AUTOINCREMENT,   -- never used twice, even after a run was deleted
    key TEXT NOT NULL UNIQUE,                   -- a UUID in hexadecimal, unique across machines
    created_at TEXT NOT NULL,                   -- UTC, ISO 8601
    started_at TEXT,
    finished_at TEXT,
    state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'complete', 'interrupted')),
    suites TEXT NOT NULL CHECK (json_valid(suites)),            -- JSON array
    device TEXT NOT NULL,
    device_name TEXT NOT NULL,
    emulated INTEGER NOT NULL CHECK (emulated IN (0, 1)),
    torch_version TEXT NOT NULL,
    backend TEXT NOT NULL,
    backend_version TEXT NOT NULL,
    harness_version TEXT NOT NULL,
    python_version TEXT NOT NULL,
    host TEXT NOT NULL,
    operating_system TEXT NOT NULL,
    command TEXT NOT NULL,
    selection TEXT NOT NULL,                    -- '' when all of the suites was asked for
    probe TEXT NOT NULL,                        -- how fallbacks were seen; '' when nothing looked
    seed INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment)),  -- JSON object
    inventory_id INTEGER REFERENCES inventory(id),
    planned INTEGER NOT NULL DEFAULT 0          -- rows of this run in plan
) STRICT;
INSERT INTO "run" VALUES(1,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-11-01T00:00:00Z','2026-11-01T00:00:01Z','2026-11-01T00:00:02Z','complete','["opinfo", "modules"]','neuron','Trainium2',0,'2.13.0','torch-neuronx','2.13.3.1','0.1.0','3.11.7','host','Linux','conformance run','--ops add','observer',-7,'{"A": "ü", "OMP_NUM_THREADS": "1"}',NULL,2);
INSERT INTO "run" VALUES(2,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','2026-11-01T00:00:00Z','2026-11-01T00:00:03Z','2026-11-01T00:00:04Z','complete','["opinfo", "modules"]','neuron','Trainium2',0,'2.13.0','torch-neuronx','2.13.3.1','0.1.0','3.11.7','host','Linux','conformance run','--ops add','observer',-7,'{"A": "ü", "OMP_NUM_THREADS": "1"}',NULL,1);
CREATE TABLE run_outcome (
    -- How many tests of a run have an outcome (last attempts); kept up to date with result.
    run_id INTEGER NOT NULL REFERENCES run(run_id),
    outcome TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'error', 'skipped', 'xfailed', 'xpassed', 'crashed', 'timed_out', 'out_of_memory', 'not_run')),
    tests INTEGER NOT NULL,
    PRIMARY KEY (run_id, outcome)
) STRICT, WITHOUT ROWID;
INSERT INTO "run_outcome" VALUES(1,'failed',1);
INSERT INTO "run_outcome" VALUES(1,'not_run',1);
INSERT INTO "run_outcome" VALUES(2,'passed',1);
CREATE TABLE signature (
    -- Every normalised failure text, once: failures with one signature have one cause.
    id INTEGER PRIMARY KEY,
    signature TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "signature" VALUES(1,'no');
CREATE TABLE spelling (
    -- How to write a test's node id from its test id: put head in place of its first cut characters, and insert infix
    -- before its last tail characters. A few hundred rows stand for all node ids of all runs.
    id INTEGER PRIMARY KEY,
    head TEXT NOT NULL,
    cut INTEGER NOT NULL,
    infix TEXT NOT NULL,
    tail INTEGER NOT NULL,
    UNIQUE (head, cut, infix, tail)
) STRICT;
INSERT INTO "spelling" VALUES(1,'test/test_ops.py::TestCommonNEURON::',25,'_neuron',0);
CREATE TABLE test (
    -- Every test under its device-neutral identity, once for all runs.
    id INTEGER PRIMARY KEY,
    test_id TEXT NOT NULL,                      -- such as opinfo::TestOperators::test_out_add_float32
    revision INTEGER NOT NULL DEFAULT 0,        -- counts up when a later suite describes the same test id differently
    suite TEXT NOT NULL CHECK (suite IN ('opinfo', 'modules', 'upstream', 'local')),
    file_id INTEGER NOT NULL REFERENCES name(id),
    class_id INTEGER NOT NULL REFERENCES name(id),
    template_id INTEGER NOT NULL REFERENCES name(id),
    op_id INTEGER REFERENCES name(id),
    module_id INTEGER REFERENCES name(id),
    dtype_id INTEGER REFERENCES name(id),
    UNIQUE (test_id, revision)
) STRICT;
INSERT INTO "test" VALUES(1,'test_ops.py::TestCommon::test_x_add_float32',0,'opinfo',1,2,3,4,NULL,5);
INSERT INTO "test" VALUES(2,'test_ops.py::TestCommon::test_x_linear',0,'opinfo',1,2,3,NULL,6,NULL);
CREATE TABLE text (
    -- Every reason, message, traceback and sample description, once.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- BLAKE2b of the text, 12 bytes: an index over it stays small
    text TEXT NOT NULL
) STRICT;
INSERT INTO "text" VALUES(1,X'C74E249D35FEC0675D56AD30','sample 1');
INSERT INTO "text" VALUES(2,X'1A23E61D24A7712D85D112FA','no');
INSERT INTO "text" VALUES(3,X'A60E242F34E62D06009B053F','trace');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX test_op ON test(op_id, dtype_id) WHERE op_id IS NOT NULL;
CREATE INDEX test_module ON test(module_id, dtype_id) WHERE module_id IS NOT NULL;
CREATE VIEW test_results AS
    -- One row for each planned test of each run, with its last attempt.
    SELECT plan.run_id, test.test_id, spelling.head || substr(test.test_id, spelling.cut + 1, length(test.test_id) - spelling.cut - spelling.tail) || spelling.infix || substr(test.test_id, length(test.test_id) - spelling.tail + 1) AS node_id,
        test.suite, file.name AS file, class.name AS class, template.name AS template,
        op.name AS op, module.name AS module, dtype.name AS dtype,
        coalesce(result.outcome, 'not_run') AS outcome,
        fallback.overloads AS fallback_ops,             -- NULL = not observed, '' = observed, none
        test_fallback.overloads AS test_fallback_ops,
        result.samples, result.samples_passed, coalesce(failing_sample.text, '') AS failing_sample,
        coalesce(result.duration_us, 0) / 1e6 AS duration_s,
        coalesce(reason.text, '') AS reason, coalesce(message.text, '') AS message,
        result.signature_id, coalesce(signature.signature, '') AS signature, coalesce(result.attempt, 0) AS attempt,
        coalesce(worker.name, '') AS worker, coalesce(details.text, '') AS details
    FROM run
    JOIN plan ON plan.run_id = run.run_id
    JOIN test ON test.id = plan.test_ref
    JOIN spelling ON spelling.id = plan.spelling_id
    JOIN name AS file ON file.id = test.file_id
    JOIN name AS class ON class.id = test.class_id
    JOIN name AS template ON template.id = test.template_id
    LEFT JOIN name AS op ON op.id = test.op_id
    LEFT JOIN name AS module ON module.id = test.module_id
    LEFT JOIN name AS dtype ON dtype.id = test.dtype_id
    LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )
    LEFT JOIN fallback_set AS fallback ON fallback.id = result.fallback_set_id
    LEFT JOIN fallback_set AS test_fallback ON test_fallback.id = result.test_fallback_set_id
    LEFT JOIN text AS failing_sample ON failing_sample.id = result.failing_sample_id
    LEFT JOIN text AS reason ON reason.id = result.reason_id
    LEFT JOIN text AS message ON message.id = result.message_id
    LEFT JOIN text AS details ON details.id = result.details_id
    LEFT JOIN signature ON signature.id = result.signature_id
    LEFT JOIN name AS worker ON worker.id = result.worker_id;
CREATE VIEW operator_status AS
    -- The status of every operator of every run: over all its tests (dtype NULL) and by dtype.
    SELECT run_id, subject.name AS op, dtype.name AS dtype, CASE
        WHEN planned - not_run = 0 THEN 'untested'
        WHEN crashed > 0 THEN 'crashing'
        WHEN failed > 0 AND passed = 0 THEN 'failing'
        WHEN failed > 0 THEN 'partial'
        WHEN passed > 0 AND fallback > 0 THEN 'fallback'
        WHEN passed > 0 THEN 'native'
        ELSE 'skipped'
    END AS status,
        planned, passed, failed, skipped, xfailed, crashed, not_run, fallback
    FROM (
    SELECT plan.run_id, test.op_id AS subject_id, NULL AS dtype_id,
        count(*) AS planned,
        count(*) FILTER (WHERE result.outcome IN ('passed', 'xpassed')) AS passed,
        count(*) FILTER (WHERE result.outcome IN ('failed', 'error')) AS failed,
        count(*) FILTER (WHERE result.outcome = 'skipped') AS skipped,
        count(*) FILTER (WHERE result.outcome = 'xfailed') AS xfailed,
        count(*) FILTER (WHERE result.outcome IN ('crashed', 'timed_out', 'out_of_memory')) AS crashed,
        count(*) FILTER (WHERE result.outcome IS NULL OR result.outcome = 'not_run') AS not_run,
        count(*) FILTER (WHERE result.fallback_set_id IS NOT NULL AND result.fallback_set_id IS NOT (SELECT id FROM fallback_set WHERE overloads = '')) AS fallback
    FROM plan
    JOIN test ON test.id = plan.test_ref
    LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )
    WHERE test.op_id IS NOT NULL
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT run.run_id, declared.op_id, NULL, 0, 0, 0, 0, 0, 0, 0, 0
    FROM run JOIN inventory_operator AS declared ON declared.inventory_id = run.inventory_id
    WHERE NOT EXISTS (
        SELECT 1 FROM test CROSS JOIN plan ON plan.run_id = run.run_id AND plan.test_ref = test.id
        WHERE test.op_id = declared.op_id
    )
    UNION ALL
    SELECT plan.run_id, test.op_id AS subject_id, test.dtype_id AS dtype_id,
        count(*) AS planned,
        count(*) FILTER (WHERE result.outcome IN ('passed', 'xpassed')) AS passed,
        count(*) FILTER (WHERE result.outcome IN ('failed', 'error')) AS failed,
        count(*) FILTER (WHERE result.outcome = 'skipped') AS skipped,
        count(*) FILTER (WHERE result.outcome = 'xfailed') AS xfailed,
        count(*) FILTER (WHERE result.outcome IN ('crashed', 'timed_out', 'out_of_memory')) AS crashed,
        count(*) FILTER (WHERE result.outcome IS NULL OR result.outcome = 'not_run') AS not_run,
        count(*) FILTER (WHERE result.fallback_set_id IS NOT NULL AND result.fallback_set_id IS NOT (SELECT id FROM fallback_set WHERE overloads = '')) AS fallback
    FROM plan
    JOIN test ON test.id = plan.test_ref
    LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )
    WHERE test.op_id IS NOT NULL AND test.dtype_id IS NOT NULL
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT run.run_id, declared.op_id, declared.dtype_id, 0, 0, 0, 0, 0, 0, 0, 0
    FROM run JOIN inventory_operator_dtype AS declared ON declared.inventory_id = run.inventory_id
    WHERE NOT EXISTS (
        SELECT 1 FROM test CROSS JOIN plan ON plan.run_id = run.run_id AND plan.test_ref = test.id
        WHERE test.op_id = declared.op_id AND test.dtype_id = declared.dtype_id
    )
    ) AS counted
    JOIN name AS subject ON subject.id = counted.subject_id
    LEFT JOIN name AS dtype ON dtype.id = counted.dtype_id;
CREATE VIEW module_status AS
    -- The status of every module of every run: over all its tests (dtype NULL) and by dtype.
    SELECT run_id, subject.name AS module, dtype.name AS dtype, CASE
        WHEN planned - not_run = 0 THEN 'untested'
        WHEN crashed > 0 THEN 'crashing'
        WHEN failed > 0 AND passed = 0 THEN 'failing'
        WHEN failed > 0 THEN 'partial'
        WHEN passed > 0 AND fallback > 0 THEN 'fallback'
        WHEN passed > 0 THEN 'native'
        ELSE 'skipped'
    END AS status,
        planned, passed, failed, skipped, xfailed, crashed, not_run, fallback
    FROM (
    SELECT plan.run_id, test.module_id AS subject_id, NULL AS dtype_id,
        count(*) AS planned,
        count(*) FILTER (WHERE result.outcome IN ('passed', 'xpassed')) AS passed,
        count(*) FILTER (WHERE result.outcome IN ('failed', 'error')) AS failed,
        count(*) FILTER (WHERE result.outcome = 'skipped') AS skipped,
        count(*) FILTER (WHERE result.outcome = 'xfailed') AS xfailed,
        count(*) FILTER (WHERE result.outcome IN ('crashed', 'timed_out', 'out_of_memory')) AS crashed,
        count(*) FILTER (WHERE result.outcome IS NULL OR result.outcome = 'not_run') AS not_run,
        count(*) FILTER (WHERE result.fallback_set_id IS NOT NULL AND result.fallback_set_id IS NOT (SELECT id FROM fallback_set WHERE overloads = '')) AS fallback
    FROM plan
    JOIN test ON test.id = plan.test_ref
    LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )
    WHERE test.module_id IS NOT NULL
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT run.run_id, declared.module_id, NULL, 0, 0, 0, 0, 0, 0, 0, 0
    FROM run JOIN inventory_module AS declared ON declared.inventory_id = run.inventory_id
    WHERE NOT EXISTS (
        SELECT 1 FROM test CROSS JOIN plan ON plan.run_id = run.run_id AND plan.test_ref = test.id
        WHERE test.module_id = declared.module_id
    )
    UNION ALL
    SELECT plan.run_id, test.module_id AS subject_id, test.dtype_id AS dtype_id,
        count(*) AS planned,
        count(*) FILTER (WHERE result.outcome IN ('passed', 'xpassed')) AS passed,
        count(*) FILTER (WHERE result.outcome IN ('failed', 'error')) AS failed,
        count(*) FILTER (WHERE result.outcome = 'skipped') AS skipped,
        count(*) FILTER (WHERE result.outcome = 'xfailed') AS xfailed,
        count(*) FILTER (WHERE result.outcome IN ('crashed', 'timed_out', 'out_of_memory')) AS crashed,
        count(*) FILTER (WHERE result.outcome IS NULL OR result.outcome = 'not_run') AS not_run,
        count(*) FILTER (WHERE result.fallback_set_id IS NOT NULL AND result.fallback_set_id IS NOT (SELECT id FROM fallback_set WHERE overloads = '')) AS fallback
    FROM plan
    JOIN test ON test.id = plan.test_ref
    LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )
    WHERE test.module_id IS NOT NULL AND test.dtype_id IS NOT NULL
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT run.run_id, declared.module_id, declared.dtype_id, 0, 0, 0, 0, 0, 0, 0, 0
    FROM run JOIN inventory_module_dtype AS declared ON declared.inventory_id = run.inventory_id
    WHERE NOT EXISTS (
        SELECT 1 FROM test CROSS JOIN plan ON plan.run_id = run.run_id AND plan.test_ref = test.id
        WHERE test.module_id = declared.module_id AND test.dtype_id = declared.dtype_id
    )
    ) AS counted
    JOIN name AS subject ON subject.id = counted.subject_id
    LEFT JOIN name AS dtype ON dtype.id = counted.dtype_id;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('run',7);
COMMIT;
