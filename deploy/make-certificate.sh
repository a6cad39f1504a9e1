#!/bin/sh
# Makes a self-signed certificate for localhost and its key, in one PEM file for HAProxy, unless the file exists. Clients
# must be told to trust it (curl --cacert).
set -eu
file=$1
[ -s "$file" ] && exit 0
folder=$(mktemp -d "$(dirname "$file")/new-XXXXXX")
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 825 -subj /CN=localhost \
  -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout "$folder/key.pem" -out "$folder/certificate.pem"
cat "$folder/certificate.pem" "$folder/key.pem" > "$folder/proxy.pem"
# The proxy runs as a different user.
chmod 0644 "$folder/proxy.pem"
mv "$folder/proxy.pem" "$file"
rm -r "$folder"
