-- What tenants may hold; NULL is without limit.
CREATE TABLE orgs (
    org              TEXT    NOT NULL PRIMARY KEY,
    knowledge_chunks INTEGER,
    memory_facts     INTEGER
) WITHOUT ROWID;

-- Where revisions come from: no two changes have the same.
CREATE TABLE knowledge_clock (
    one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    revision INTEGER NOT NULL
);
INSERT INTO knowledge_clock VALUES (1, 0);

CREATE TABLE bases (
    org         TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    language    TEXT    NOT NULL,
    model       TEXT    NOT NULL,           -- '' has no vectors
    dim         INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    files       INTEGER NOT NULL DEFAULT 0, -- counted as they change
    chunks      INTEGER NOT NULL DEFAULT 0,
    updated     INTEGER NOT NULL,           -- unix microseconds
    calibration TEXT,                       -- JSON
    PRIMARY KEY (org, name)
) WITHOUT ROWID;

CREATE TABLE files (
    org     TEXT    NOT NULL,
    base    TEXT    NOT NULL,
    path    TEXT    NOT NULL,
    sha256  BLOB    NOT NULL,
    format  INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    chunks  INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    PRIMARY KEY (org, base, path),
    FOREIGN KEY (org, base) REFERENCES bases ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE pieces (
    org      TEXT    NOT NULL,
    base     TEXT    NOT NULL,
    path     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    heading  TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    section  INTEGER NOT NULL,
    glue     TEXT    NOT NULL,
    repeats  INTEGER NOT NULL,
    oversize INTEGER NOT NULL,
    digest   BLOB    NOT NULL,              -- SHA-256 of the text as it is indexed
    PRIMARY KEY (org, base, path, seq),
    FOREIGN KEY (org, base, path) REFERENCES files ON DELETE CASCADE
);

CREATE INDEX pieces_texts ON pieces (org, base, digest);

-- A piece finds its vector by its digest and its base's model, so that another
-- model is adopted by changing one row.
CREATE TABLE vectors (
    org    TEXT    NOT NULL,
    model  TEXT    NOT NULL,
    dim    INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    kept   INTEGER NOT NULL,                -- when it was embedded
    vector BLOB    NOT NULL,                -- float32, little-endian
    PRIMARY KEY (org, model, dim, digest)
);
