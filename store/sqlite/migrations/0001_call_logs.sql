CREATE TABLE calls (
    org     TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    started INTEGER NOT NULL,           -- unix microseconds, as all times here
    ended   INTEGER,                    -- NULL while the call lasts
    reason  TEXT    NOT NULL DEFAULT '',
    sealed  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (org, id)
) WITHOUT ROWID;

CREATE INDEX calls_newest ON calls (org, started DESC, id);

-- One log's entries lie side by side, in the order in which they are read.
CREATE TABLE entries (
    org   TEXT    NOT NULL,
    log   TEXT    NOT NULL,             -- a call's id, or '@' and an agent's slug
    seq   INTEGER NOT NULL,
    ts    INTEGER NOT NULL,
    agent TEXT    NOT NULL,
    type  TEXT    NOT NULL,
    data  TEXT    NOT NULL,
    PRIMARY KEY (org, log, seq)
) WITHOUT ROWID;
