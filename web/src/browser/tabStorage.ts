// The session storage, which is that of one browser tab. A browser may forbid it; then nothing is
// stored.

/** Returns null if nothing is stored, or it cannot be read. */
export function readTabStorage(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Returns false if the value could not be stored. */
export function writeTabStorage(key: string, value: string): boolean {
  try {
    sessionStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

export function removeFromTabStorage(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // What cannot be written is not there either.
  }
}

/** Returns the keys of all stored values. */
export function tabStorageKeys(): string[] {
  try {
    return Object.keys(sessionStorage);
  } catch {
    return [];
  }
}
