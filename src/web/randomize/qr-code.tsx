import { useQuery } from '@tanstack/react-query';
import styles from './page.module.css';

/** The encoder is loaded when the first code is shown. */
export function QrCode({ content, label }: { content: Uint8Array; label: string }) {
  const { data: code } = useQuery({
    queryKey: ['qr-encoder'],
    queryFn: async () => (await import('uqr')).encode,
    select: (encode) => encode([...content], { ecc: 'L', border: 4 }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // This keeps its space until then.
  if (!code) return <div className={styles.qr} />;
  const { size, data } = code;
  const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
  return (
    <svg className={styles.qr} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
