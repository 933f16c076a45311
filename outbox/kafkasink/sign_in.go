package kafkasink

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
)

// errSignIn is what a mechanism of SASL fails with on this side: no credentials, or an answer of
// the broker that it takes for a refusal, as that of OAUTHBEARER to a token that has ended. It
// is of the connection, and says nothing of the records that wait for it.
var errSignIn = errors.New("leat: kafka: sign in")

// signIn makes the mechanisms of client say that it is they who have failed. The option goes
// before those that have set them: a client takes the first that the broker supports.
func signIn(client *kgo.Client) []kgo.Opt {
	mechanisms, _ := client.OptValue(kgo.SASL).([]sasl.Mechanism)
	opts := make([]kgo.Opt, len(mechanisms))
	for i, m := range mechanisms {
		opts[i] = kgo.SASL(mechanism{m})
	}
	return opts
}

type mechanism struct{ sasl.Mechanism }

// Authenticate implements sasl.Mechanism.
func (m mechanism) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	s, first, err := m.Mechanism.Authenticate(ctx, host)
	if err != nil {
		return nil, nil, m.failed(err)
	}
	return session{s, m}, first, nil
}

func (m mechanism) failed(err error) error {
	return fmt.Errorf("%w by %s: %w", errSignIn, m.Name(), err)
}

type session struct {
	sasl.Session

	by mechanism
}

// Challenge implements sasl.Session.
func (s session) Challenge(answer []byte) (done bool, next []byte, err error) {
	done, next, err = s.Session.Challenge(answer)
	if err != nil {
		err = s.by.failed(err)
	}
	return done, next, err
}
