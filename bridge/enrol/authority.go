package enrol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Files in the state directory. They are made together at the first start;
// machines that run pin the authority, so it stays.
const (
	authorityFile = "enrol-ca.pem" // certificate and key
	secretFile    = "enrol.secret"
	leafLife      = 90 * 24 * time.Hour
)

// authority signs the server's certificate.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string // certificate alone, for machines to pin
	host string // name or address in the enrolment's URL
	now  func() time.Time

	mu   sync.Mutex
	leaf *tls.Certificate
}

// loadAuthority reads the authority of a state directory, or makes it.
func loadAuthority(dir, host string, now func() time.Time) (*authority, error) {
	path := filepath.Join(dir, authorityFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = makeAuthority(now()); err == nil {
			err = writePrivate(path, text)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", path, err)
	}
	a := &authority{host: host, now: now}
	if err := a.parse(text); err != nil {
		return nil, fmt.Errorf("read certificate authority %s: %w", path, err)
	}
	return a, nil
}

func (a *authority) parse(text []byte) (err error) {
	cert, rest := pem.Decode(text)
	key, _ := pem.Decode(rest)
	if cert == nil || key == nil {
		return errors.New("want a certificate and a key in PEM form")
	}
	if a.cert, err = x509.ParseCertificate(cert.Bytes); err != nil {
		return err
	}
	a.pem = string(pem.EncodeToMemory(cert))
	a.key, err = x509.ParseECPrivateKey(key.Bytes)
	return err
}

func makeAuthority(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "spillway enrolment"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...), nil
}

// certificate is the server's own, made anew before it runs out. It begins a
// day early: a machine's clock may be behind.
func (a *authority) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if a.leaf != nil && now.Before(a.leaf.Leaf.NotAfter.Add(-leafLife/3)) {
		return a.leaf, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: a.host},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(a.host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{a.host}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	a.leaf = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return a.leaf, nil
}

// loadSecret reads the key of the tickets' MAC, or makes it.
func loadSecret(dir string) ([]byte, error) {
	path := filepath.Join(dir, secretFile)
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret = make([]byte, 32)
		if _, err = rand.Read(secret); err == nil {
			err = writePrivate(path, secret)
		}
	}
	if err == nil && len(secret) != 32 {
		err = fmt.Errorf("want 32 bytes, it has %d; remove it to make a new one: tickets given out so far are void then", len(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("enrolment secret %s: %w", path, err)
	}
	return secret, nil
}

// writePrivate writes a whole file for its owner alone, or none.
func writePrivate(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
