-- In the index of a large base the column of the vectors tells whose they are.
DO $$
DECLARE b record;
BEGIN
    FOR b IN SELECT number, model, dim FROM bases WHERE indexed <> '' AND model <> '' LOOP
        EXECUTE format('ALTER TABLE large_%s RENAME COLUMN vector TO vector_%s', b.number,
            left(encode(sha256(convert_to(b.model || ' ' || b.dim, 'UTF8')), 'hex'), 12));
    END LOOP;
END $$;
