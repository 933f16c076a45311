package dynamooutbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// script answers requests in its order, and the last answer for ever.
type script struct {
	answers []func(r *http.Request) (*http.Response, error)
	bodies  []string
}

// Do implements the SDK's HTTPClient.
func (s *script) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(body))
	return s.answers[min(len(s.bodies), len(s.answers))-1](r)
}

func cut(*http.Request) (*http.Response, error) { return nil, faultnet.ErrCut }

func done(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}}, nil
}

// hang is a server that does not answer.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func refuse(status int, code string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return faultnet.DynamoAnswer(status, code), nil }
}

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "leat", SecretAccessKey: "leat"}, nil
}

// commit commits a transaction that has an item of the caller alone.
func commit(ctx context.Context, t *testing.T, client dynamodb.HTTPClient, credentials aws.CredentialsProviderFunc) error {
	t.Helper()
	db := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://127.0.0.1:1"), Region: "us-east-1", HTTPClient: client, Credentials: credentials,
	})
	ob, err := dynamooutbox.New(db, dynamooutbox.Config{Table: "outbox"})
	require.NoError(t, err)
	tx := ob.Begin()
	require.NoError(t, tx.Add(types.TransactWriteItem{Put: &types.Put{TableName: aws.String("orders"), Item: wide()}}))
	return tx.Commit(ctx)
}

// wide is an item with many attributes, which a map has in another order each time.
func wide() map[string]types.AttributeValue {
	i := make(map[string]types.AttributeValue)
	for n := range 12 {
		i["a"+strconv.Itoa(n)] = &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
	}
	return i
}

// TestCommit_RefusalAfterAnUnknownOutcome: the answer to the second try tells that its sender has no
// right to ask, and nothing of what happened to the first.
//
//leat:level 0
func TestCommit_RefusalAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException", "IdempotentParameterMismatchException",
		"ResourceNotFoundException", "ValidationException",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				refused := refuse(http.StatusBadRequest, code) //nolint:bodyclose // the SDK closes it
				s := &script{answers: []func(*http.Request) (*http.Response, error){cut, refused}}
				err := commit(t.Context(), t, s, credentials)
				require.ErrorIs(t, err, outbox.ErrCommitUnknown)
				require.ErrorContains(t, err, code, "why it is not known")
				require.Len(t, s.bodies, 2)

				s = &script{answers: []func(*http.Request) (*http.Response, error){refused}}
				err = commit(t.Context(), t, s, credentials)
				require.ErrorContains(t, err, code)
				require.NotErrorIs(t, err, outbox.ErrCommitUnknown, "the first answer: nothing was written")
			})
		})
	}
}

// TestCommit_AnswerAfterAnUnknownOutcome: answers that decide the transaction are believed.
//
//leat:level 0
func TestCommit_AnswerAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func(*http.Request) (*http.Response, error) {
			return faultnet.DynamoCancelled("TransactionConflict"), nil
		}
		failed := func(*http.Request) (*http.Response, error) {
			return faultnet.DynamoCancelled("ConditionalCheckFailed"), nil
		}
		down := refuse(http.StatusInternalServerError, "InternalServerError") //nolint:bodyclose // the SDK closes it
		s := &script{answers: []func(*http.Request) (*http.Response, error){busy, down, busy, done}}
		require.NoError(t, commit(t.Context(), t, s, credentials))
		tokens := make([]string, len(s.bodies))
		for i, body := range s.bodies {
			tokens[i] = tokenOf(t, body)
		}
		require.NotEqual(t, tokens[0], tokens[1], "nothing was written: a new request")
		require.Equal(t, tokens[1], tokens[2])
		require.Equal(t, tokens[2], tokens[3], "it may have been written: the same request, although others are in the way")

		s = &script{answers: []func(*http.Request) (*http.Response, error){cut, failed}}
		var refused *dynamooutbox.RefusedError
		require.ErrorAs(t, commit(t.Context(), t, s, credentials), &refused)
	})
}

func tokenOf(t *testing.T, body string) string {
	t.Helper()
	var in struct{ ClientRequestToken string }
	require.NoError(t, json.Unmarshal([]byte(body), &in))
	require.NotEmpty(t, in.ClientRequestToken)
	return in.ClientRequestToken
}

// TestCommit_SameBytes: the SDK writes the attributes of an item in another order each time.
//
//leat:level 0
func TestCommit_SameBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make([]func(*http.Request) (*http.Response, error), 21)
		for i := range answers {
			answers[i] = cut
		}
		answers[20] = done
		s := &script{answers: answers}
		require.NoError(t, commit(t.Context(), t, s, credentials))
		require.Len(t, s.bodies, 21)
		require.Len(t, distinct(s.bodies), 1)

		control := &script{answers: answers[20:]}
		db := dynamodb.New(dynamodb.Options{
			BaseEndpoint: aws.String("http://127.0.0.1:1"), Region: "us-east-1", HTTPClient: control, Credentials: aws.CredentialsProviderFunc(credentials),
		})
		for range 20 {
			_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
				ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String("t"), Item: wide()}}},
			})
			require.NoError(t, err)
		}
		require.Greater(t, len(distinct(control.bodies)), 1, "the SDK by itself")
	})
}

func distinct(texts []string) map[string]bool {
	all := make(map[string]bool)
	for _, text := range texts {
		all[text] = true
	}
	return all
}

// TestCommit_NothingSent: what has not left this process was not committed.
//
//leat:level 0
func TestCommit_NothingSent(t *testing.T) {
	t.Parallel()
	errNone := errors.New("no credentials here")
	t.Run("no credentials", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		err := commit(t.Context(), t, s, func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errNone })
		require.ErrorIs(t, err, errNone)
		require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
		require.Empty(t, s.bodies)
	})
	t.Run("connection refused", func(t *testing.T) {
		t.Parallel()
		dials := 0
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errNone}
		}}
		err := commit(t.Context(), t, &http.Client{Transport: transport}, credentials)
		require.ErrorIs(t, err, errNone)
		require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
		require.Equal(t, 3, dials, "as often as the SDK tries")
	})
	t.Run("the context ends before there is a connection", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			cancel()
			return nil, errNone
		}}
		err := commit(ctx, t, &http.Client{Transport: transport}, credentials)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
	})
	t.Run("control: the connection breaks", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 1))
				cancel()
				_ = theirs.Close()
			}()
			return ours, nil
		}}
		require.ErrorIs(t, commit(ctx, t, &http.Client{Transport: transport}, credentials), outbox.ErrCommitUnknown)
	})
	t.Run("control: unknown, and then nothing was sent", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, calls := &script{answers: []func(*http.Request) (*http.Response, error){cut}}, 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := commit(ctx, t, s, func(context.Context) (aws.Credentials, error) {
				if calls++; calls > 1 {
					return aws.Credentials{}, errNone
				}
				return credentials(ctx)
			})
			require.ErrorIs(t, err, outbox.ErrCommitUnknown)
			require.Len(t, s.bodies, 1)
			require.Greater(t, calls, 2, "credentials come back")
		})
	})
}

// TestCommit_ServerThatDoesNotAnswer: without a deadline a request is not waited for without end.
//
//leat:level 0
func TestCommit_ServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &script{answers: []func(*http.Request) (*http.Response, error){hang, done}}
		require.NoError(t, commit(t.Context(), t, s, credentials))
		require.Less(t, time.Since(began), 11*time.Second)

		began, s = time.Now(), &script{answers: []func(*http.Request) (*http.Response, error){hang}}
		require.ErrorIs(t, commit(t.Context(), t, s, credentials), outbox.ErrCommitUnknown)
		require.Less(t, time.Since(began), 10*time.Minute, "the token is forgotten then")
		require.Len(t, distinct(s.bodies), 1)
	})
}
