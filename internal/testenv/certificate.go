package testenv

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificate is of a server on 127.0.0.1, with the authority that has signed it, both
// in PEM. Nobody keeps the authority's key.
type certificate struct {
	keyAndChain, authority string
}

func newCertificate() (certificate, error) {
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leat test authority"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		// A broker is a client of its own, too.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("testenv: certificate: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("testenv: certificate: %w", err)
	}
	authority, err := sign(root, root, rootKey.Public(), rootKey)
	if err != nil {
		return certificate{}, err
	}
	chain, err := sign(leaf, root, leafKey.Public(), rootKey)
	if err != nil {
		return certificate{}, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return certificate{}, fmt.Errorf("testenv: certificate: %w", err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))

	return certificate{keyAndChain: text + chain + authority, authority: authority}, nil
}

// sign returns the certificate that template describes, valid for a day.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (string, error) {
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return "", fmt.Errorf("testenv: certificate: %w", err)
	}

	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
