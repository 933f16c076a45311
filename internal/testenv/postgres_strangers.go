package testenv

import (
	"context"
	"testing"
)

// strangers are objects of a role that may CREATE in the schema public and nothing else. All of
// them match some arguments better than what PostgreSQL has under the same name. A function
// notes that it was called, an aggregate that a view was made with it.
const strangers = `
CREATE TABLE public.loot (what text);
GRANT ALL ON public.loot TO public;
DO $do$
DECLARE
    signature text;
BEGIN
    FOREACH signature IN ARRAY ARRAY[
        'jsonb_build_object(text, text)', 'jsonb_build_object(text, bigint)', 'jsonb_build_object(text, integer)',
        'jsonb_build_object(text, timestamptz)', 'jsonb_build_object(text, bigint, text, jsonb)', 'jsonb_build_object(text, integer, text, jsonb)'
    ] LOOP
        EXECUTE 'CREATE FUNCTION public.' || signature || ' RETURNS jsonb LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (' || quote_literal(signature) || '); RETURN ''{}''::jsonb; END $f$';
    END LOOP;
    FOREACH signature IN ARRAY ARRAY['concat_ws(text, uuid, oid, bigint)', 'concat_ws(text, text, oid, bigint)'] LOOP
        EXECUTE 'CREATE FUNCTION public.' || signature || ' RETURNS text LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (' || quote_literal(signature) || '); RETURN ''''; END $f$';
    END LOOP;
    FOREACH signature IN ARRAY ARRAY['smallint', 'bigint', 'uuid', 'text', 'bytea', 'jsonb', 'timestamptz'] LOOP
        EXECUTE 'CREATE FUNCTION public.unnest(' || signature || '[]) RETURNS SETOF ' || signature || ' LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (''unnest''); RETURN QUERY SELECT pg_catalog.unnest($1); END $f$';
        EXECUTE 'CREATE FUNCTION public.gather(' || signature || '[], ' || signature || ') RETURNS ' || signature || '[] LANGUAGE plpgsql AS $f$
            BEGIN INSERT INTO public.loot VALUES (''array_agg''); RETURN $1 || $2; END $f$';
        EXECUTE 'CREATE AGGREGATE public.array_agg(' || signature || ') (SFUNC = public.gather, STYPE = ' || signature || '[])';
    END LOOP;
    CREATE FUNCTION public.times(bigint, interval) RETURNS interval LANGUAGE plpgsql AS $f$
        BEGIN INSERT INTO public.loot VALUES ('bigint * interval'); RETURN $1::float8 OPERATOR(pg_catalog.*) $2; END $f$;
    CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = interval, FUNCTION = public.times);
    CREATE FUNCTION public.times(numeric, integer) RETURNS numeric LANGUAGE plpgsql AS $f$
        BEGIN INSERT INTO public.loot VALUES ('numeric * integer'); RETURN $1 OPERATOR(pg_catalog.*) $2::numeric; END $f$;
    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.times);
END $do$`

// Strangers makes objects in the schema public of db that take the place of PostgreSQL's own
// wherever a statement is not careful.
func Strangers(tb testing.TB, db *Database) {
	tb.Helper()
	if _, err := db.Pool.Exec(context.Background(), strangers); err != nil {
		tb.Fatal(err)
	}
}

// RequireNotCalled fails tb if anybody has called what Strangers made, or has made a view or a
// default that would.
func RequireNotCalled(tb testing.TB, db *Database) {
	tb.Helper()
	var called []string
	err := db.Pool.QueryRow(context.Background(), `
		SELECT coalesce(pg_catalog.array_agg(DISTINCT what), '{}') FROM (
			SELECT what FROM public.loot
			UNION ALL
			SELECT 'kept: ' || p.oid::regprocedure::text
			FROM pg_depend d JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
			WHERE p.pronamespace = 'public'::regnamespace AND d.classid IN ('pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)) x`).Scan(&called)
	if err != nil {
		tb.Fatal(err)
	}
	if len(called) > 0 {
		tb.Errorf("objects of strangers are called: %q", called)
	}
}
