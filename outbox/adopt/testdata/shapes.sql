-- Outbox tables as services have them, on PostgreSQL.

-- A worker builds an envelope around the payload. Its topic is fixed.
CREATE TABLE helpdesk_outbox (
    id bigserial PRIMARY KEY,
    event_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    aggregate text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    payload jsonb NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    attempts int NOT NULL DEFAULT 0,
    next_retry_at timestamptz NOT NULL DEFAULT now(),
    processing_started_at timestamptz,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz
);

-- Two tables of one shape: the routing key is made of two columns, and a key of idempotency refuses
-- rows.
CREATE TABLE order_outbox (
    id uuid PRIMARY KEY,
    idempotency_key text NOT NULL UNIQUE,
    aggregate_type text,
    http_method text,
    route text,
    payload jsonb,
    headers jsonb,
    status text DEFAULT 'NEW',
    retry_count bigint DEFAULT 0,
    last_error text,
    created_at timestamptz,
    published_at timestamptz,
    event_type text NOT NULL,
    event_subtype text NOT NULL,
    next_retry_at timestamptz
);
CREATE TABLE payment_event_outbox (LIKE order_outbox INCLUDING ALL);

-- Neither a topic nor a type.
CREATE TABLE outbox (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    aggregate_id uuid NOT NULL,
    payload jsonb NOT NULL,
    status varchar(50) DEFAULT 'PENDING',
    created_at timestamptz DEFAULT now()
);

-- The Open Outbox specification, v0.1.
CREATE TABLE openoutbox_events (
    event_id uuid PRIMARY KEY,
    event_type text NOT NULL,
    partition_key text,
    payload bytea NOT NULL,
    headers jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERING', 'DELIVERED', 'DEAD')),
    attempts int NOT NULL DEFAULT 0,
    last_error text,
    available_at timestamptz NOT NULL DEFAULT now(),
    locked_by text,
    locked_at timestamptz,
    delivered_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- What most articles show.
CREATE TABLE outbox_events (
    id bigserial PRIMARY KEY,
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz,
    attempts int NOT NULL DEFAULT 0
);
