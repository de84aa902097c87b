-- Who was on the line, by the platform's own id: '' for nobody, and after an
-- erasure. What comes for the log of an erased call later is kept without words.
ALTER TABLE calls ADD COLUMN contact TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;

UPDATE calls SET contact = coalesce((
    SELECT json_extract(e.data, '$.contact.id') FROM entries e
    WHERE e.org = calls.org AND e.log = calls.id AND e.type = 'call.started'), '');

CREATE INDEX calls_contact ON calls (org, contact, started) WHERE contact <> '';

-- What calls taught about contacts.
CREATE TABLE facts (
    org        TEXT    NOT NULL,
    contact    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    confidence REAL    NOT NULL,
    source     TEXT    NOT NULL,           -- the call that taught it; '' for an operator
    since      INTEGER NOT NULL,
    until      INTEGER,                    -- NULL while it is held
    closed_by  TEXT    NOT NULL DEFAULT '',
    quote      TEXT    NOT NULL,
    turn       TEXT    NOT NULL,
    model      TEXT    NOT NULL,           -- of the vector; '' without one
    vector     BLOB,                       -- float32, little endian
    PRIMARY KEY (org, contact, id)
) WITHOUT ROWID;

CREATE INDEX facts_held ON facts (org, contact, since, id) WHERE until IS NULL;

-- Which calls were remembered, so that each is once.
CREATE TABLE remembered (
    org  TEXT NOT NULL,
    call TEXT NOT NULL,
    PRIMARY KEY (org, call)
) WITHOUT ROWID;
