package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
)

// secret reads a token file, or makes one that only its owner can read.
func secret(path string) (string, error) {
	token, err := readSecret(path)
	if !errors.Is(err, os.ErrNotExist) {
		return token, err
	}
	token = rand.Text()
	if err := writeDurably(path, []byte(token+"\n")); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return token, nil
}

func readSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read token: %s is empty", path)
	}
	return token, nil
}
