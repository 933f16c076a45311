package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
)

// Health is health, for images without an HTTP client.
type Health struct {
	URL  string `name:"url" placeholder:"URL" help:"Where the daemon listens. Defaults to http.listen of the file, or http://127.0.0.1:8470."`
	CA   string `name:"ca-file" placeholder:"FILE" help:"CA certificates, PEM. Defaults to the system's."`
	Live bool   `help:"Ask whether it lives, not whether it is ready."`
}

// errUnhealthy is returned if the daemon answers that it is not healthy.
var errUnhealthy = errors.New("leat: not healthy")

// Run requests the health of a daemon.
func (h *Health) Run(d *command.Deps) error {
	url, err := h.Address(d)
	if err != nil {
		return err
	}
	probe := "/readyz"
	if h.Live {
		probe = "/livez"
	}
	ctx, cancel := context.WithTimeout(d.Context, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+probe, http.NoBody)
	if err != nil {
		return command.Usage("--url", url, "must be a URL such as http://127.0.0.1:8470")
	}
	encrypted, err := h.encryption()
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: encrypted}} // of no proxy
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	defer context.AfterFunc(ctx, func() { _ = answer.Body.Close() })() // a body of 101 does not end with ctx
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(body))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %s", errUnhealthy, answer.Status, text)
	}
	return d.Line("%s", text)
}

// encryption returns how the daemon's certificate is checked. The certificate of the file's daemon is not
// checked: it is made for the names by which other hosts reach the daemon, and the request has no secret.
func (h *Health) encryption() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: h.URL == ""} //nolint:gosec // as said above
	switch {
	case h.CA == "":
		return config, nil
	case h.URL == "":
		return nil, command.Usage("--ca-file", h.CA, "needs --url")
	}
	content, err := os.ReadFile(h.CA)
	if err != nil {
		return nil, command.Usage("--ca-file", h.CA, err.Error())
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(content) {
		return nil, command.Usage("--ca-file", h.CA, "has no certificate in PEM")
	}
	return config, nil
}

// Address returns the address of the daemon.
func (h *Health) Address(d *command.Deps) (string, error) {
	url := strings.TrimSuffix(h.URL, "/")
	if url != "" {
		if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
			return "", command.Usage("--url", h.URL, "must be a URL such as http://127.0.0.1:8470")
		}
		return url, nil
	}
	listen, scheme := "127.0.0.1:8470", "http"
	if d.File != nil {
		said, err := readDaemon(d)
		if err != nil {
			return "", err
		}
		if said.HTTP != nil && said.HTTP.Listen.Set() {
			listen = said.HTTP.Listen.Value
		}
		if said.HTTP != nil && said.HTTP.CertFile.Set() {
			scheme = "https"
		}
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", command.Usage("http.listen", listen, "is where nobody can be asked")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}
