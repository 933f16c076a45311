-- Which of the rights that a role needs it has: one row each, in their order. $1 is the role, $2
-- the schema. $3 are kinds: schema, table, column, sequence (the log's, by the log's name),
-- owner or function; $4 the names, $5 the privileges, $6 the columns. A right to an object that
-- does not exist is NULL. A membership in the owner counts if it inherits, so that the role acts
-- as the owner, and since PostgreSQL 16 if it may SET ROLE, so that partitions can be given to
-- the owner; a membership without these is granted again with the options.
SELECT n.ord, o.name, CASE n.kind
    WHEN 'schema' THEN has_schema_privilege(r.oid, s.oid, n.privilege)
    WHEN 'table' THEN has_table_privilege(r.oid, c.oid, n.privilege)
    WHEN 'column' THEN has_column_privilege(r.oid, c.oid, n.col, n.privilege)
    WHEN 'sequence' THEN has_sequence_privilege(r.oid, q.oid, n.privilege)
    WHEN 'owner' THEN pg_has_role(r.oid, c.relowner, 'USAGE')
      AND pg_has_role(r.oid, c.relowner, CASE WHEN v.sixteen THEN 'SET' ELSE 'MEMBER' END)
    WHEN 'owner''s schema' THEN r.oid = c.relowner OR has_schema_privilege(c.relowner, s.oid, 'CREATE')
    WHEN 'function' THEN has_function_privilege(r.oid, f.oid, n.privilege)
  END,
  CASE WHEN n.kind = 'owner' AND v.sixteen AND pg_has_role(r.oid, c.relowner, 'MEMBER') THEN ' WITH INHERIT TRUE, SET TRUE' ELSE '' END
FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS n(kind, name, privilege, col, ord)
JOIN pg_roles r ON r.rolname = $1
CROSS JOIN (SELECT current_setting('server_version_num')::int >= 160000 AS sixteen) v
LEFT JOIN pg_namespace s ON s.nspname = $2
LEFT JOIN pg_class c ON c.relnamespace = s.oid AND c.relname = n.name AND n.kind <> 'function'
LEFT JOIN LATERAL (SELECT d.objid AS oid FROM pg_depend d JOIN pg_class k ON k.oid = d.objid
                   WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                     AND d.refobjid = c.oid AND k.relkind = 'S' LIMIT 1) q ON n.kind = 'sequence'
LEFT JOIN LATERAL (SELECT p.oid FROM pg_proc p
                   WHERE p.pronamespace = CASE WHEN starts_with(n.name, 'pg_') THEN 'pg_catalog'::regnamespace ELSE s.oid END
                     AND format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) = n.name) f ON n.kind = 'function'
CROSS JOIN LATERAL (SELECT CASE n.kind
    WHEN 'schema' THEN quote_ident(s.nspname)
    WHEN 'sequence' THEN q.oid::regclass::text
    WHEN 'owner' THEN (SELECT quote_ident(w.rolname) FROM pg_roles w WHERE w.oid = c.relowner)
    WHEN 'owner''s schema' THEN (SELECT format('%I TO %I', s.nspname, w.rolname) FROM pg_roles w WHERE w.oid = c.relowner)
    WHEN 'function' THEN f.oid::regprocedure::text
    ELSE c.oid::regclass::text END AS name) o
ORDER BY n.ord
