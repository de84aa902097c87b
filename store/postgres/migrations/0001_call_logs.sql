-- Names and ids are compared and ordered by their bytes, whatever language the
-- database sorts in.

CREATE TABLE calls (
    org     text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    started timestamptz      NOT NULL,
    ended   timestamptz,                -- NULL while the call lasts
    reason  text             NOT NULL DEFAULT '',
    sealed  boolean          NOT NULL DEFAULT false,
    PRIMARY KEY (org, id)
);

CREATE INDEX calls_newest ON calls (org, started DESC, id);

-- data is text, and JSON only by what the worker writes: an entry that a reader
-- of JSON would choke on (an escaped NUL, for jsonb) must not keep a batch of
-- others out. For a query of one's own: data::json ->> 'text'.
CREATE TABLE entries (
    org   text COLLATE "C" NOT NULL,
    log   text COLLATE "C" NOT NULL,    -- a call's id, or '@' and an agent's slug
    seq   bigint           NOT NULL,
    ts    timestamptz      NOT NULL,
    agent text COLLATE "C" NOT NULL,
    type  text COLLATE "C" NOT NULL,
    data  text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, log, seq)
);
