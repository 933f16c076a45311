package testenv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// errRabbitReply is returned for answers that are no broker's, and for its refusals.
var errRabbitReply = errors.New("testenv: reply of RabbitMQ")

// inspectRabbit says hello and returns the broker's version and the name of its cluster, which
// are in its first frame. The demo links this package, and so no client library.
func inspectRabbit(ctx context.Context, address string) (version, cluster string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	if _, err := io.WriteString(conn, "AMQP\x00\x00\x09\x01"); err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}
	var head [7]byte // type, channel, size
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}
	const most = 64 << 10
	size := binary.BigEndian.Uint32(head[3:])
	if head[0] != 1 || size > most {
		return "", "", fmt.Errorf("%w: %q is no start of a connection", errRabbitReply, head)
	}
	start := make([]byte, size)
	if _, err := io.ReadFull(conn, start); err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}

	return longString(start, "version"), longString(start, "cluster_name"), nil
}

// longString returns the text called name in an encoded table, or "".
func longString(table []byte, name string) string {
	_, after, ok := strings.Cut(string(table), string(rune(len(name)))+name+"S")
	if !ok || len(after) < 4 {
		return ""
	}
	n := binary.BigEndian.Uint32([]byte(after[:4]))

	return after[4:min(len(after), 4+int(n))]
}

// rabbitAPI is the broker's management over HTTP.
type rabbitAPI struct {
	base string
	user *url.Userinfo
}

// rabbitAPIOf returns the management of the broker at address: on the port that its parameter
// management names, or else where it is by default.
func rabbitAPIOf(address string) (rabbitAPI, *url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return rabbitAPI{}, nil, fmt.Errorf("testenv: %s: %w", redact(address), err)
	}
	port := u.Query().Get("management")
	if port == "" {
		port = "15672"
	}
	user := u.User
	if user == nil {
		user = url.UserPassword("guest", "guest")
	}

	return rabbitAPI{base: "http://" + net.JoinHostPort(u.Hostname(), port), user: user}, u, nil
}

// do asks for something, and returns an error unless it is granted.
func (a rabbitAPI) do(ctx context.Context, method, path, body string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.base+"/api"+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	password, _ := a.user.Password()
	request.SetBasicAuth(a.user.Username(), password)
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("testenv: RabbitMQ's management: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))

		return fmt.Errorf("%w: %s %s: %s: %s", errRabbitReply, method, path, response.Status, text)
	}

	return nil
}
