/**
 * Who may do what, decided like a server with passwords (EventStore.Core, LegacyStreamPermissionAssertion): the rights of a
 * stream are in its metadata, or else in `$settings`. Otherwise any known user may do anything to the streams of users, and
 * only administrators to those of the system, including `$all`. Administrators may do anything.
 */
import { type Metadata, type ServerErrorResponse, status } from '@grpc/grpc-js';
import { type Acl, metadataOf, type ServerLog } from './log.ts';
import { failure } from './messages.ts';

export interface User {
  readonly password: string;
  readonly groups: readonly string[];
}

export type Action = 'read' | 'write' | 'delete';

export const ADMINS = '$admins';
const EVERYBODY = '$all';

const RIGHTS = { read: '$r', write: '$w', delete: '$d', metadataRead: '$mr', metadataWrite: '$mw' } as const;
type Right = (typeof RIGHTS)[keyof typeof RIGHTS];

export type Access = ReturnType<typeof accessOf>;

export function accessOf(known: Readonly<Record<string, User>>, log: ServerLog) {
  const users = new Map(Object.entries(known));
  const whoIs = (metadata: Metadata): string | 'unknown' | undefined => {
    const [given] = metadata.get('authorization');
    if (given === undefined) return undefined;
    for (const [name, { password }] of users)
      if (given === `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`) return name;
    return 'unknown';
  };
  const isAdministrator = (user: string) => users.get(user)?.groups.includes(ADMINS) ?? false;
  const rolesFor = (stream: string, right: Right): readonly string[] => {
    const isSystem = stream.startsWith('$');
    const settings = metadataOf(log.visible('$settings')?.at(-1));
    const settled = settings[isSystem ? '$systemStreamAcl' : '$userStreamAcl'] as Acl | undefined;
    const roles = log.metadata(stream).$acl?.[right] ?? settled?.[right];
    return [roles ?? (isSystem ? ADMINS : EVERYBODY)].flat();
  };
  const may = (user: string, action: Action, asked: string): boolean => {
    if (isAdministrator(user)) return true;
    const isMetadata = asked.startsWith('$$');
    if (isMetadata && action === 'delete') return false;
    if (asked === '$all' && action !== 'read') return false;
    const stream = isMetadata ? asked.slice(2) : asked;
    const right = RIGHTS[isMetadata ? (action === 'read' ? 'metadataRead' : 'metadataWrite') : action];
    const wanted = rolesFor(stream, right);
    return [EVERYBODY, user, ...(users.get(user)?.groups ?? [])].some((role) => wanted.includes(role));
  };
  return {
    /** @returns whether there is a user of that name with that password now */
    create(name: string, user: User): boolean {
      const known = users.get(name);
      if (!known) users.set(name, user);
      return known === undefined || known.password === user.password;
    },
    /** A node says nothing of its cluster to a caller with wrong credentials. */
    refusalOfUnknown(metadata: Metadata): ServerErrorResponse | undefined {
      return whoIs(metadata) === 'unknown' ? unknown() : undefined;
    },
    /** A caller with wrong credentials is unknown; one without credentials may do nothing. */
    refusal(metadata: Metadata, action: Action, stream: string): ServerErrorResponse | undefined {
      const who = whoIs(metadata);
      if (who === 'unknown') return unknown();
      return who && may(who, action, stream) ? undefined : denied();
    },
    /** @returns why the caller is not an administrator */
    refusalOfOthers(metadata: Metadata): ServerErrorResponse | undefined {
      const who = whoIs(metadata);
      return who && who !== 'unknown' && isAdministrator(who) ? undefined : denied();
    },
  };
}

const unknown = () => failure(status.UNAUTHENTICATED, 'Unauthenticated');
const denied = () => failure(status.PERMISSION_DENIED, 'Access Denied', 'access-denied');
