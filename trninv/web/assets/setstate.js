import{E as e,_ as t,c as n,p as r,r as i,t as a,w as o,x as s}from"./jsxRuntime.js";import{B as c,L as l,N as u,a as d,c as f,f as p,j as m,l as h,m as g,t as _,u as v}from"./words.js";import{_ as y,f as b,n as x,o as S}from"./state.js";import{n as C,t as w}from"./confirmation.js";import{F as T}from"./index.js";var E=m(`fragment Seen on Event { event at who why }`),D=m(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[E]),O=m(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        target {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),k=m(`
  fragment Able on CapabilityAnswer {
    chips idleLinks
    halves { exact upper { gigabytesPerSecond } }
  }
`),A=m(`
  query CapabilityIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      capability(scope: $scope) { ...Able difference { incomparable } baseline { ...Able } }
    }
  }
`,[k]),j=m(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),M=m(`
  query Brought($scope: Address!) {
    incidents(scope: $scope, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function N(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var P=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],F={Nic:`NIC`,NetworkNode:`network node`};function I(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>h(t,F[e]??e.toLowerCase())).join(`, `)}var L=(e,t)=>`Set ${I(e)} to ${t}`;function R(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var z=({lastChange:e})=>e?.event??0;function B(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:z(n)})}var V=(e,t)=>t.filter(t=>e.get(t.address)?.event!==z(t)),H=[`up`,`degraded`];function U(e,t,n){let r=!H.includes(t),i=e.filter(({state:e})=>H.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function W(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var G=2;function K({things:e,to:n,factor:r,route:i}){let{reached:o}=t(),s=U(e,n,r),c=[...new Set(e.map(({address:e})=>T(e)))].filter(Boolean),l=s&&!s.down.length&&!s.derate.length;return a(`section`,{class:`would`,"aria-label":`What this would change`,children:[a(`h3`,{children:[`What this would change `,a(`span`,{class:`quiet`,children:[`as of `,b(o),` UTC`]})]}),l&&a(`p`,{class:`quiet`,children:`No effect on capacity.`}),s&&!l&&c.slice(0,G).map(e=>a(Y,{domain:e,assumed:s,route:i},e)),s&&!l&&c.length>G&&a(`p`,{class:`quiet`,children:[`and `,h(c.length-G,`more domain`)]}),s&&!c.length&&!l&&a(`p`,{class:`quiet`,children:`Not in a scale-up domain, so no NeuronLink changes.`}),!s&&a(Z,{things:e,to:n}),a(Q,{things:e,to:n})]})}function q({name:e,before:t,now:n,unit:r=``,isBad:i=!1,incomparable:o}){let s=n-t,c=o?`not comparable: ${o}`:d(t,n)||`no change`;return a(`div`,{children:[a(`dt`,{children:e}),a(`dd`,{children:[a(g,{now:`${f(n)}${r}`,before:f(t)+(s?``:r)}),a(`span`,{class:s<0!==i&&s&&!o?`less`:`quiet`,children:c})]})]})}function J({result:e,children:t}){return e.error?a(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?a(`p`,{class:`quiet`,children:`Computing…`}):null:a(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function Y({domain:t,assumed:n,route:r}){let{from:i,to:o}=r.view===`domain`&&r.subject===t?r.options:{},s=i&&o?{from:_(t,i),to:_(t,o)}:null,l=c(u(A,{scope:t,...n})),d=c(s&&u(j,{...s,...n}));return a(e,{children:[a(J,{result:l,children:({whatIf:{capability:e}})=>e.baseline&&a(X,{domain:t,chips:[e.baseline.chips,e.chips],links:[e.baseline.idleLinks,e.idleLinks],halves:[e.baseline.halves,e.halves],incomparable:e.difference?.incomparable})}),s&&a(J,{result:d,children:({whatIf:{bandwidth:e}})=>a(q,{name:`Maximum flow ${v(t,s.from)} to ${v(t,s.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function X({domain:t,chips:n,links:r,halves:[i,o],incomparable:s}){return a(e,{children:[a(q,{name:`Working chips in ${t}`,before:n[0],now:n[1]}),a(q,{name:`Idle links`,before:r[0],now:r[1],isBad:!0}),a(q,{name:i.exact&&o.exact?`Bisection`:`Bisection, at most`,before:i.upper.gigabytesPerSecond,now:o.upper.gigabytesPerSecond,unit:` GB/s`,incomparable:s})]})}function Z({things:e,to:t}){let n=e.find(({state:e})=>e!==`up`)?.address,r=c(t===`up`&&n?u(M,{scope:n}):null),i=new Set(e.map(({address:e})=>e));return t!==`up`||!n?a(`p`,{class:`quiet`,children:`Capacity will increase. The numbers are known once the state is set.`}):a(J,{result:r,children:({incidents:{nodes:e}})=>{let t=e[0];return t?t.causeCount>t.causes.length||!t.causes.every(e=>i.has(e))?a(`p`,{class:`quiet`,children:[`Part of incident `,t.id,`, which has `,h(t.causeCount,`cause`),`. What the other causes took down stays down.`]}):t.impact.domains.map(e=>a(X,{domain:e.domain,chips:[e.chipsNow,e.chipsBefore],links:[e.idleLinksNow,e.idleLinksBefore],halves:[e.bisectionNow,e.bisectionBefore],incomparable:e.incomparable},e.domain)):a(`p`,{class:`quiet`,children:`Not part of an incident.`})}})}function Q({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of R(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:a(`ul`,{class:`plain`,children:[...n].map(([e,t])=>a(`li`,{children:[a(x,{state:`degraded`}),` job `,e,` uses `,f(t.length),` of these chips`,` `,a(`a`,{href:i(`jobs`,``,{in:T(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Find another placement`})]},e))})}var $=e=>Math.max(0,...e.map(({target:e})=>`lastChange`in e?e.lastChange?.event??0:0)),ee=e=>({message:e.message,undo:e.changes.length?()=>te(e):void 0});async function te({changes:e,why:t,who:n}){let i=$(e);for(let a of W(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:n,unchangedSince:i},{setState:o}=await l({...u(O,{input:e}),at:``});r($(o.changes))}}var ne=[`up`,`degraded`,`down`,`maintenance`],re=1e3;function ie(e){e.places.length&&C(t=>a(ae,{change:e,close:t}))}function ae({change:t,close:i}){let d=s(new Map),p=n(),[m,h]=o(()=>[...new Set(t.places)]),[g,_]=o(t.state),[v,y]=o(String(t.factor??.5)),b=c(u(D,N(m))),x=b.data?P(b.data):[];B(d.current,x);let C=V(d.current,x),T=R(x).size,E=Number(v),k=!b.loading&&x.length>0&&x.length<m.length,A=async({why:e,who:t})=>{let n={addresses:x.map(({address:e})=>e),state:g.toUpperCase(),factor:g===`degraded`?E:null,why:e,who:t,unchangedSince:b.data?.events.nodes[0]?.event??0},{setState:i}=await l({...u(O,{input:n}),at:``});return r($(i.changes)),ee({message:oe(x,i.changes,g),why:e,who:t,changes:i.changes})},j=a(e,{children:[a(se,{things:b.error||!b.data?m.map(e=>({address:e})):x,places:m,set:h}),k&&a(`p`,{class:`failure`,role:`alert`,children:[`Only `,f(x.length),` of `,f(m.length),` parts were loaded. Set fewer at once.`]}),b.error&&a(`p`,{class:`failure`,role:`alert`,children:b.error.message}),a(`fieldset`,{class:`to`,children:[a(`legend`,{children:`New state`}),ne.map(e=>a(`label`,{class:e,children:[a(`input`,{type:`radio`,name:`to`,value:e,checked:e===g,onChange:()=>_(e)}),a(S,{state:e,children:e})]},e))]}),g===`degraded`&&a(`label`,{children:[`Remaining capacity, between 0 and 1`,a(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:v,onInput:e=>y(e.currentTarget.value)})]})]});return a(w,{title:`Set state`,action:L(x,g),tone:g===`up`?``:g,asks:[`why`,`who`],most:re,ready:!b.loading&&x.length>0&&!k,note:`Takes effect immediately`,subject:j,apply:A,describe:({message:e})=>C.length?null:e,close:i,children:[x.length>0&&(g!==`degraded`||E>0&&E<1)&&a(K,{things:x,to:g,factor:E,route:p}),T>16&&a(`label`,{children:[`This affects `,f(T),` chips. Type the number to confirm`,a(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(T),title:String(T)})]}),C.length>0&&a(ce,{things:C,seen:d.current})]})}function oe(e,t,n){if(!t.length)return`No change: ${I(e)} already ${y(n)}`;let r=t.filter(({after:e,target:t})=>`state`in t&&t.state!==e).length,i=r?`; ${f(r)} will be ${y(n)} once the server is`:``;return`${I(e)} set to ${n}${i}`}function se({things:e,places:t,set:n}){let[r,i]=o(!1),s=e=>{let r=e.value.trim().toLowerCase();r&&n([...new Set([...t,r])]),i(!1)};return a(`div`,{class:`what`,children:[a(`h3`,{children:`Parts`}),a(`ul`,{children:[e.slice(0,8).map(({address:e,state:r})=>a(`li`,{children:[a(`strong`,{children:p(e)}),` `,r&&a(S,{state:r}),t.length>1&&a(`button`,{type:`button`,class:`plain`,"aria-label":`Remove ${e}`,onClick:()=>n(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&a(`li`,{class:`quiet`,children:[`and `,f(e.length-8),` more`]}),a(`li`,{children:r?a(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),s(e.currentTarget))},onBlur:e=>s(e.currentTarget)}):a(`button`,{type:`button`,class:`plain`,onClick:()=>i(!0),children:`+ Add`})})]})]})}function ce({things:e,seen:t}){return a(`div`,{class:`conflict`,role:`alert`,children:[a(`strong`,{children:`Changed since you opened this dialog`}),a(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>a(`li`,{children:[a(x,{state:n}),` `,p(e),` was `,t.get(e)?.state,`, now `,y(n),r&&`, ${b(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),a(`label`,{children:[a(`input`,{type:`checkbox`,required:!0}),` Set anyway`]},e.map(({lastChange:e})=>e?.event).join())]})}export{ie as open};