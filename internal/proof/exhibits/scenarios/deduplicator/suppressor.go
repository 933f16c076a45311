package deduplicator

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wmiddleware "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/middleware"
)

const (
	// window is how long the Deduplicator remembers. Its default is a minute.
	window = 24 * time.Hour
	// lease is how long leat considers a message as being processed after its process has died. The default
	// is 30 s. It is shorter here, so that the audience does not wait.
	lease = 500 * time.Millisecond
)

// suppressor makes the middleware that suppresses repeats in one process, which reaches the
// database through pool.
type suppressor func(ctx context.Context, pool *pgxpool.Pool) (message.HandlerMiddleware, error)

// repository makes the store of the Deduplicator's keys.
type repository func(ctx context.Context, pool *pgxpool.Pool) (wmiddleware.ExpiringKeyRepository, error)

// inMemory is the repository that comes with Watermill.
func inMemory(context.Context, *pgxpool.Pool) (wmiddleware.ExpiringKeyRepository, error) {
	return wmiddleware.NewMapExpiringKeyRepository(window)
}

// shared is a repository as the documentation suggests writing one for Redis: the processes share the
// keys. Nothing expires while the exhibit plays.
func shared(ctx context.Context, pool *pgxpool.Pool) (wmiddleware.ExpiringKeyRepository, error) {
	_, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS seen (id text PRIMARY KEY)`)
	return keys{pool}, err
}

// keys implements ExpiringKeyRepository.
type keys struct{ pool *pgxpool.Pool }

// IsDuplicate marks key, and returns whether it was marked before.
func (k keys) IsDuplicate(ctx context.Context, key string) (bool, error) {
	tag, err := k.pool.Exec(ctx, `INSERT INTO seen VALUES ($1) ON CONFLICT DO NOTHING`, key)
	return tag.RowsAffected() == 0, err
}

// onDeduplicator plays a scenario with Watermill's Deduplicator.
func onDeduplicator(repo repository, sc scenario) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		if _, err := bed.Pool.Exec(ctx, `DROP TABLE IF EXISTS seen`); err != nil {
			return exhibit.Outcome{}, err
		}
		return play(ctx, bed, sc, func(ctx context.Context, pool *pgxpool.Pool) (message.HandlerMiddleware, error) {
			keys, err := repo(ctx, pool)
			if err != nil {
				return nil, err
			}
			d := wmiddleware.Deduplicator{KeyFactory: byUUID, Repository: keys, Timeout: time.Minute}
			return d.Middleware, nil
		})
	}
}

// byUUID identifies messages without collisions.
func byUUID(msg *message.Message) (string, error) { return msg.UUID, nil }

// onDedupe plays a scenario with leat's Dedupe on PostgreSQL.
func onDedupe(consumer string, sc scenario) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		return play(ctx, bed, sc, func(ctx context.Context, pool *pgxpool.Pool) (message.HandlerMiddleware, error) {
			store, err := pgdedupe.New(pool, pgdedupe.Config{})
			if err != nil {
				return nil, err
			}
			if err := store.Migrate(ctx); err != nil {
				return nil, err
			}
			p, err := dedupe.New(store, consumer, dedupe.Config{Lease: lease})
			if err != nil {
				return nil, err
			}
			return middleware.NewDedupe(middleware.DedupeConfig{Processor: p})
		})
	}
}
