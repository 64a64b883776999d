import { allowedAccess, splitSpaceEntry } from '../../core/access/key-rules.ts';
import type {
  AdminKey,
  AdminSpace,
  NamedSpace,
  SpaceSettings,
} from '../../core/contracts/admin.ts';

/** The settings of a space as a form has them. */
export interface SpaceForm {
  name: string;
  description: string;
  quota: number | '';
  dream: boolean;
  exclusivePaths: boolean;
  metadata: { key: string; value: string }[];
}

/** The fields that the service can find fault with. */
export const SPACE_FIELDS = ['id', 'name', 'description', 'quota', 'metadata'];
/** What two operators can have changed, for people. */
export const SPACE_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  description: 'Description',
  quota: 'Most files',
  dream: 'Dreaming',
  exclusivePaths: 'File or folder',
  metadata: 'Metadata',
};

/** The form of a space; of a new one without `space`. */
export function toSpaceForm(space?: AdminSpace): SpaceForm {
  return {
    name: space?.name ?? '',
    description: space?.description ?? '',
    quota: space?.quota ?? '',
    dream: space?.dream ?? false,
    exclusivePaths: space?.exclusivePaths ?? false,
    metadata: Object.entries(space?.metadata ?? {}).map(([key, value]) => ({ key, value })),
  };
}

/** All settings of a form. */
export function toSpaceSettings(form: SpaceForm): Required<SpaceSettings> {
  const entries = form.metadata.map(({ key, value }) => [key.trim(), value] as const);
  return {
    name: form.name.trim() === '' ? null : form.name.trim(),
    description: form.description.trim() === '' ? null : form.description.trim(),
    quota: form.quota === '' ? null : form.quota,
    dream: form.dream,
    exclusivePaths: form.exclusivePaths,
    metadata: Object.fromEntries(entries.filter(([key]) => key !== '')),
  };
}

/** The settings that differ, so that saving changes nothing else. */
export function changedSettings(
  settings: Required<SpaceSettings>,
  base: Readonly<Record<string, unknown>>,
): SpaceSettings {
  return Object.fromEntries(
    Object.entries(settings).filter(([key, value]) => !isSame(value, base[key])),
  );
}

function isSame(one: unknown, other: unknown): boolean {
  const sorted = (value: unknown) =>
    typeof value === 'object' && value !== null
      ? JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : JSON.stringify(value);
  return sorted(one) === sorted(other);
}

/** The keys whose calls may name a space, each with the most that they may ask for. */
export function keysOf(spaceId: string, keys: readonly AdminKey[]) {
  return keys.flatMap((key) => {
    const access = allowedAccess(key, spaceId);
    return access === null ? [] : [{ id: key.id, name: key.name, access }];
  });
}

/** The spaces of a form without those that are not filled in. */
export function trimSpaces(spaces: readonly NamedSpace[]): NamedSpace[] {
  return spaces.map(({ id, access }) => ({ id: id.trim(), access })).filter(({ id }) => id !== '');
}

/** `acme:write`: the access follows the last colon. */
export const toSpaceEntry = ({ id, access }: NamedSpace): string => `${id}:${access}`;

/** `acme:write, docs:read`, as a header and an address have spaces. */
export const toSpaceLine = (spaces: readonly NamedSpace[]): string =>
  spaces.map(toSpaceEntry).join(', ');

/** The spaces of a {@link toSpaceLine}. Where a part is none, the service says so when it gets it. */
export function fromSpaceLine(line: string): NamedSpace[] {
  const parts = line.split(',').map((part) => part.trim());
  return parts.filter(Boolean).map((part) => {
    const { pattern, access } = splitSpaceEntry(part);
    return { id: pattern, access };
  });
}
