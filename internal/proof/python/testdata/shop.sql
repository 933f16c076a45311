CREATE TABLE account (key text PRIMARY KEY, amount bigint NOT NULL, version bigint NOT NULL);
CREATE TABLE book (key text PRIMARY KEY, amount bigint NOT NULL);
INSERT INTO account SELECT 'account-' || n, 100, 0 FROM generate_series(0, 7) n;
INSERT INTO book SELECT key, amount FROM account;
CREATE TABLE ledger (id text, key text NOT NULL, version bigint NOT NULL, amount bigint NOT NULL);
-- No unique constraint: it would hide double effects.
CREATE TABLE effects (no bigint GENERATED ALWAYS AS IDENTITY, id text, key text NOT NULL, version bigint NOT NULL, amount bigint NOT NULL);

CREATE TABLE orders (id text, topic text NOT NULL, key text NOT NULL, payload text NOT NULL);
CREATE FUNCTION orders_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM leat.outbox_enqueue(coalesce(jsonb_agg(jsonb_build_object(
    'topic', o.topic, 'key', o.key, 'id', o.id, 'payload', o.payload)), '[]'))
  FROM changed o;
  RETURN NULL;
END $$;
CREATE TRIGGER orders_inserted AFTER INSERT ON orders REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION orders_changed();
