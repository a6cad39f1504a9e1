import { isIP } from 'node:net';
import type { ChannelCredentials } from '@grpc/grpc-js';

/**
 * In TLS a client names the server it wants, and that name is never an IP address (RFC 6066, section 3). gRPC sends
 * addresses too, and Node warns about that (DEP0123). The certificate is still checked against the address.
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
