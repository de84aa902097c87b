-- Who was on the line, by the platform's own id: '' for nobody, and after an
-- erasure. What comes for the log of an erased call later is kept without words.
ALTER TABLE calls ADD COLUMN contact text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN erased boolean NOT NULL DEFAULT false;

CREATE INDEX calls_contact ON calls (org, contact, started) WHERE contact <> '';

-- What calls taught about contacts.
CREATE TABLE facts (
    org        text COLLATE "C" NOT NULL,
    contact    text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    text       text COLLATE "C" NOT NULL,
    category   text             NOT NULL,
    confidence double precision NOT NULL,
    source     text COLLATE "C" NOT NULL,   -- the call that taught it; '' for an operator
    since      timestamptz      NOT NULL,
    until      timestamptz,                 -- NULL while it is held
    closed_by  text COLLATE "C" NOT NULL DEFAULT '',
    quote      text             NOT NULL,
    turn       text             NOT NULL,
    model      text             NOT NULL,   -- of the vector; '' without one
    vector     vector,
    PRIMARY KEY (org, contact, id)
);

CREATE INDEX facts_held ON facts (org, contact, since, id) WHERE until IS NULL;

-- Which calls were remembered, so that each is once.
CREATE TABLE remembered (
    org  text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, call)
);
