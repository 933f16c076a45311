package rival

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv/connect"
	"github.com/leat-go/leat/outbox"
)

// debeziumName is the name of the connector and of its objects in the database.
const debeziumName = "leat_benchmark"

// Debezium is Debezium's connector for PostgreSQL with its outbox event router, in a worker of
// Kafka Connect. The server needs wal_level=logical.
type Debezium struct {
	pool   *pgxpool.Pool
	worker *connect.Worker
	topic  *arrivals
}

// NewDebezium creates the table, and starts the worker and the connector. It leaves the connector stopped,
// with a replication slot. Only the connector's records may go to topic, which must exist. The caller must
// Close the result.
func NewDebezium(
	ctx context.Context, pool *pgxpool.Pool, brokers []string, topic string, cfg DebeziumConfig,
) (d *Debezium, err error) {
	if err := createDebeziumTable(ctx, pool); err != nil {
		return nil, err
	}
	d = &Debezium{pool: pool}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.topic, err = newArrivals(ctx, brokers, topic); err != nil {
		return nil, err
	}
	if d.worker, err = connect.Start(ctx, brokers, connect.Options{HeapMB: connect.KafkaHeapMB, OffsetFlush: connect.KafkaOffsetFlush}); err != nil {
		return nil, fmt.Errorf("rival: Debezium: %w", err)
	}
	if err := d.Configure(ctx, cfg); err != nil {
		return nil, err
	}
	if err := d.Start(ctx); err != nil {
		return nil, err
	}
	return d, d.Stop(ctx)
}

// Version returns the versions of Debezium and of Kafka Connect.
func (d *Debezium) Version() string {
	return connect.DebeziumVersion + " in Kafka Connect " + d.worker.Version()
}

// Configure changes the configuration of the connector, which must be stopped.
func (d *Debezium) Configure(ctx context.Context, cfg DebeziumConfig) error {
	settings := cfg.settings(d.pool.Config().ConnConfig, d.topic.name)
	if err := d.worker.Configure(ctx, debeziumName, settings); err != nil {
		return fmt.Errorf("rival: configure Debezium: %w", err)
	}
	return nil
}

// Start starts the connector. It returns when the connector streams, which means that a message written
// after the start has arrived.
func (d *Debezium) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := d.resume(ctx); err != nil {
		return err
	}
	if err := d.worker.Await(ctx, debeziumName, connect.Running); err != nil {
		return fmt.Errorf("rival: start Debezium: %w", err)
	}
	from, err := d.topic.ends(ctx)
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("rival: start Debezium: %w", err)
	}
	probe := outbox.Message{ID: id.String(), Topic: d.topic.name, Key: "probe", Payload: []byte("probe")}
	if err := d.Fill(ctx, []outbox.Message{probe}); err != nil {
		return err
	}
	if _, err := d.arrived(ctx, from, []outbox.Message{probe}); err != nil {
		return fmt.Errorf("rival: Debezium does not stream: %w", err)
	}
	return nil
}

// startLimit bounds the start of a connector, and the time until its records arrive.
const startLimit = 5 * time.Minute

func (d *Debezium) resume(ctx context.Context) error {
	if err := d.worker.Resume(ctx, debeziumName); err != nil {
		return fmt.Errorf("rival: start Debezium: %w", err)
	}
	return nil
}

// Stop stops the connector. Its replication slot keeps what is written after that.
func (d *Debezium) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := d.worker.Stop(ctx, debeziumName)
	if err == nil {
		err = d.worker.Await(ctx, debeziumName, connect.Stopped)
	}
	if err != nil {
		return fmt.Errorf("rival: stop Debezium: %w", err)
	}
	return nil
}

// Close ends the worker.
func (d *Debezium) Close() error {
	if d.topic != nil {
		d.topic.close()
	}
	if d.worker == nil {
		return nil
	}
	return d.worker.Close()
}
