package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const maxBodyBytes = 2 << 20

var jsonType = regexp.MustCompile(`(?i)^application/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$`)

func secrets() [][]byte {
	var found [][]byte
	for _, name := range []string{"SECURITY_EVENTS_SECRET", "SECURITY_EVENTS_OLD_SECRET"} {
		if secret := os.Getenv(name); secret != "" {
			found = append(found, []byte(secret))
		}
	}
	return found
}

func isGenuine(body []byte, signature string) bool {
	genuine := false
	for _, secret := range secrets() {
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		expected := hex.EncodeToString(mac.Sum(nil))
		// Compare all, so that timing does not reveal the secret in use.
		if hmac.Equal([]byte(expected), []byte(signature)) {
			genuine = true
		}
	}
	return genuine
}

func parse(body []byte) ([]map[string]any, error) {
	var messages []map[string]any
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	if err := json.Unmarshal(body, &messages); err != nil {
		return nil, err
	}
	if len(messages) < 1 || len(messages) > 1000 {
		return nil, errors.New("no array of 1 to 1000 messages")
	}
	for _, message := range messages {
		if message == nil {
			return nil, errors.New("a message is an object")
		}
	}
	return messages, nil
}

func first(message map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := message[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

func handle(message map[string]any) {
	kind := first(message, "message_type", "svc_payload_type")
	// Store it under this id, in format 1 with kind and application; skip it if the key exists.
	fmt.Println(kind, first(message, "message_id", "event_id", "id"))
}

func receive(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	coding := r.Header.Get("Content-Encoding")
	if !jsonType.MatchString(r.Header.Get("Content-Type")) || (coding != "" && !strings.EqualFold(coding, "identity")) {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !isGenuine(body, r.Header.Get("X-Svc-Integrity")) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	messages, err := parse(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, message := range messages {
		handle(message)
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	if len(secrets()) == 0 {
		log.Fatal("Set SECURITY_EVENTS_SECRET.")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	server := http.Server{
		Addr:        "127.0.0.1:" + port,
		Handler:     http.HandlerFunc(receive),
		ReadTimeout: 30 * time.Second, // limits how long a slow sender holds a connection
	}
	log.Fatal(server.ListenAndServe())
}
