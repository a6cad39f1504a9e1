import { isIP } from 'node:net';
import type { ChannelCredentials } from '@grpc/grpc-js';

/**
 * TLS tells a server the name under which it is wanted, which is never an IP address (RFC 6066, section 3). gRPC tells
 * addresses as well, and Node warns of that (DEP0123). The certificate is held against the address all the same.
 */
export function withoutAddressAsName(security: ChannelCredentials): ChannelCredentials {
  const makeConnector = security._createSecureConnector.bind(security);
  security._createSecureConnector = (...target) => {
    const connector = makeConnector(...target);
    const { connectionOptions } = connector as { connectionOptions?: { servername?: string | undefined } };
    if (connectionOptions && isIP(connectionOptions.servername ?? '') !== 0)
      connectionOptions.servername = undefined;
    return connector;
  };
  return security;
}
