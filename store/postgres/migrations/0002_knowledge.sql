CREATE EXTENSION IF NOT EXISTS vector;

-- What tenants may hold; NULL is without limit.
CREATE TABLE orgs (
    org              text COLLATE "C" NOT NULL PRIMARY KEY,
    knowledge_chunks integer,
    memory_facts     integer
);

-- Where revisions come from: no two changes have the same.
CREATE SEQUENCE revisions;

CREATE TABLE bases (
    org         text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    number      bigint GENERATED ALWAYS AS IDENTITY UNIQUE, -- names its own index, large_<number>
    language    text             NOT NULL,
    model       text COLLATE "C" NOT NULL,                  -- '' has no vectors
    dim         integer          NOT NULL,
    revision    bigint           NOT NULL,
    files       integer          NOT NULL DEFAULT 0,        -- counted as they change
    chunks      integer          NOT NULL DEFAULT 0,
    updated     timestamptz      NOT NULL,
    calibration text,                                       -- JSON
    indexed     text             NOT NULL DEFAULT '',       -- how words are ranked in its own index; '' without one
    PRIMARY KEY (org, name)
);

CREATE TABLE files (
    org     text COLLATE "C" NOT NULL,
    base    text COLLATE "C" NOT NULL,
    path    text COLLATE "C" NOT NULL,
    sha256  bytea            NOT NULL,
    format  integer          NOT NULL,
    bytes   bigint           NOT NULL,
    chunks  integer          NOT NULL,
    updated timestamptz      NOT NULL,
    PRIMARY KEY (org, base, path),
    FOREIGN KEY (org, base) REFERENCES bases ON DELETE CASCADE
);

CREATE TABLE pieces (
    org      text COLLATE "C" NOT NULL,
    base     text COLLATE "C" NOT NULL,
    path     text COLLATE "C" NOT NULL,
    seq      integer          NOT NULL,
    id       text COLLATE "C" NOT NULL,
    heading  text COLLATE "C" NOT NULL,
    body     text COLLATE "C" NOT NULL,
    section  integer          NOT NULL,
    glue     text COLLATE "C" NOT NULL,
    repeats  integer          NOT NULL,
    oversize boolean          NOT NULL,
    digest   bytea            NOT NULL, -- SHA-256 of the text as it is indexed
    PRIMARY KEY (org, base, path, seq),
    FOREIGN KEY (org, base, path) REFERENCES files ON DELETE CASCADE
);

CREATE INDEX pieces_texts ON pieces (org, base, digest);

-- A piece finds its vector by its digest and its base's model, so that another
-- model is adopted by changing one row.
CREATE TABLE vectors (
    org    text COLLATE "C" NOT NULL,
    model  text COLLATE "C" NOT NULL,
    dim    integer          NOT NULL,
    digest bytea            NOT NULL,
    kept   timestamptz      NOT NULL,   -- when it was embedded
    vector halfvec          NOT NULL,
    PRIMARY KEY (org, model, dim, digest)
);
